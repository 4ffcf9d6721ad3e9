/*-------------------------------------------------------------------------
 *
 * json_text.c
 *	  Is this text a number or a document that jsonb takes without an error?
 *
 * Called by json_build.c for every value of a number or jsonb column, and by
 * the fuzzer: includes no server header, allocates nothing, never recurses.
 *
 * The bytes may come from anywhere, and an error in one value would hide the
 * whole stream from the reader.  So jsonb_in() and numeric_in() are only given
 * what they are known to accept; all else is shown as text.
 *
 *-------------------------------------------------------------------------
 */
#include <stdint.h>
#include <string.h>

#include "reader/json_text.h"

/* well inside what numeric holds: 131072 digits before the point, 16383 after */
#define MAX_INTEGER_DIGITS 131072
#define MAX_FRACTION_DIGITS 16383
#define MAX_EXPONENT 400
#define MAX_DOCUMENT_LENGTH (64 * 1024 * 1024)

typedef struct Scanner
{
	const char *at;
	const char *end;
} Scanner;

static bool
next_is(const Scanner *scan, char c)
{
	return scan->at < scan->end && *scan->at == c;
}

static bool
accept(Scanner *scan, char c)
{
	if (!next_is(scan, c))
		return false;
	scan->at++;
	return true;
}

/* Steps over digits and says how many. */
static size_t
skip_digits(Scanner *scan)
{
	const char *start = scan->at;

	while (scan->at < scan->end && *scan->at >= '0' && *scan->at <= '9')
		scan->at++;
	return (size_t) (scan->at - start);
}

/* Steps over an exponent if there is one; false if it is not acceptable. */
static bool
skip_exponent(Scanner *scan)
{
	int			exponent = 0;
	const char *start;
	size_t		digits;

	if (!accept(scan, 'e') && !accept(scan, 'E'))
		return true;
	if (!accept(scan, '+'))
		(void) accept(scan, '-');

	start = scan->at;
	digits = skip_digits(scan);
	if (digits < 1 || digits > 4)
		return false;
	for (size_t i = 0; i < digits; i++)
		exponent = exponent * 10 + (start[i] - '0');
	return exponent <= MAX_EXPONENT;
}

/* Steps over a number as JSON writes it. */
static bool
skip_number(Scanner *scan)
{
	size_t		digits;

	(void) accept(scan, '-');
	if (!accept(scan, '0'))
	{
		digits = skip_digits(scan);
		/* leave room for the exponent */
		if (digits < 1 || digits > MAX_INTEGER_DIGITS - MAX_EXPONENT)
			return false;
	}
	if (accept(scan, '.'))
	{
		digits = skip_digits(scan);
		if (digits < 1 || digits > MAX_FRACTION_DIGITS - MAX_EXPONENT)
			return false;
	}
	return skip_exponent(scan);
}

bool
json_is_number(const char *text, size_t length)
{
	Scanner		scan = {text, text + length};

	if (!skip_number(&scan) || scan.at != scan.end)
		return false;
	if (length < 2 || text[0] != '-')
		return true;

	/* a negative number must have a digit other than zero */
	for (size_t i = 1; i < length && text[i] != 'e' && text[i] != 'E'; i++)
		if (text[i] >= '1' && text[i] <= '9')
			return true;
	return false;
}

/* Steps over \uXXXX behind its u; only ASCII, which every encoding has. */
static bool
skip_unicode(Scanner *scan)
{
	int			code = 0;

	for (int i = 0; i < 4; i++)
	{
		const char *digits = "0123456789abcdefABCDEF";
		const char *digit;
		int			value;

		if (scan->at >= scan->end || *scan->at == '\0' ||
			(digit = strchr(digits, *scan->at)) == NULL)
			return false;
		value = (int) (digit - digits);
		code = code * 16 + (value < 16 ? value : value - 6);
		scan->at++;
	}
	return code > 0 && code < 0x80;
}

/* Steps over a string, from its opening quote on. */
static bool
skip_string(Scanner *scan)
{
	if (!accept(scan, '"'))
		return false;
	while (scan->at < scan->end)
	{
		char		c = *scan->at++;

		if (c == '"')
			return true;
		if ((unsigned char) c < ' ')
			return false;
		if (c != '\\')
			continue;
		if (accept(scan, 'u'))
		{
			if (!skip_unicode(scan))
				return false;
		}
		else if (scan->at >= scan->end || *scan->at == '\0' ||
				 strchr("\"\\/bfnrt", *scan->at++) == NULL)
			return false;
	}
	return false;
}

static void
skip_space(Scanner *scan)
{
	while (scan->at < scan->end && *scan->at != '\0' &&
		   strchr(" \t\r\n", *scan->at) != NULL)
		scan->at++;
}

static bool
skip_word(Scanner *scan, const char *word)
{
	size_t		length = strlen(word);

	if ((size_t) (scan->end - scan->at) < length ||
		memcmp(scan->at, word, length) != 0)
		return false;
	scan->at += length;
	return true;
}

static bool
skip_scalar(Scanner *scan)
{
	if (next_is(scan, '"'))
		return skip_string(scan);
	return skip_word(scan, "true") || skip_word(scan, "false") ||
		skip_word(scan, "null") || skip_number(scan);
}

/* Steps over a key and its colon, where an object is open. */
static bool
skip_key(Scanner *scan, char closing)
{
	if (closing == ']')
		return true;
	skip_space(scan);
	if (!skip_string(scan))
		return false;
	skip_space(scan);
	return accept(scan, ':');
}

bool
json_is_document(const char *text, size_t length)
{
	Scanner		scan = {text, text + length};
	char		closing[JSON_MAX_DEPTH];	/* brackets still to come */
	int			depth = 0;

	if (length > MAX_DOCUMENT_LENGTH)
		return false;
	skip_space(&scan);
	if (!next_is(&scan, '{') && !next_is(&scan, '['))
		return false;

	/* each round takes one value, and the brackets and comma behind it */
	do
	{
		skip_space(&scan);
		if (next_is(&scan, '{') || next_is(&scan, '['))
		{
			if (depth == JSON_MAX_DEPTH)
				return false;
			closing[depth] = *scan.at++ == '{' ? '}' : ']';
			skip_space(&scan);
			if (!next_is(&scan, closing[depth]))
			{
				if (!skip_key(&scan, closing[depth++]))
					return false;
				continue;
			}
			scan.at++;			/* empty */
		}
		else if (!skip_scalar(&scan))
			return false;

		skip_space(&scan);
		while (depth > 0 && accept(&scan, closing[depth - 1]))
		{
			depth--;
			skip_space(&scan);
		}
		if (depth > 0 &&
			!(accept(&scan, ',') && skip_key(&scan, closing[depth - 1])))
			return false;
	} while (depth > 0);

	return scan.at == scan.end;
}
