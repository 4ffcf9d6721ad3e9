/*-------------------------------------------------------------------------
 *
 * encoder_numeric.c
 *	  Direct encoders of numeric, from its stored form.
 *
 * Called for each value through TypeEncoder.encode, in the per-change memory
 * context, where detoasted values are left; and by encoder_jsonb.c for the
 * numbers in a jsonb.
 *
 * The server keeps the stored form to itself, but it is part of the on-disk
 * format and cannot change without a dump and restore:
 *
 *	header, 16 bits:
 *		11xxxxxxxxxxxxxx	special: 0xC000 NaN, 0xD000 Infinity, 0xF000 -Infinity
 *		10NSSSSSSWWWWWWW	short form: N set if negative, S the display scale,
 *							W the weight (two's complement)
 *		0NSSSSSSSSSSSSSS	long form: followed by the weight, 16 bits
 *	digits, 16 bits each:	base 10000, the first counts 10000 ^ weight
 *
 * The words are in host order, and aligned only if the varlena header is long.
 * Digits that are not stored are zero; zero itself has none.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "replication/logicalproto.h"
#include "utils/builtins.h"

#include "values/encoders.h"

#define FLAG_BITS			0xC000
#define FLAG_SHORT			0x8000
#define FLAG_SPECIAL		0xC000
#define SPECIAL_BITS		0xF000
#define SPECIAL_INFINITY	0xD000
#define SPECIAL_NEGATIVE_INFINITY 0xF000
#define SHORT_NEGATIVE		0x2000
#define LONG_NEGATIVE		0x4000
#define SHORT_SCALE(header)	(((header) & 0x1F80) >> 7)
#define LONG_SCALE(header)	((header) & 0x3FFF)
#define SHORT_WEIGHT(header) (((header) & 0x3F) - ((header) & 0x40))

#define BASE				10000
#define DIGITS_OF_BASE		4

/* A numeric value's parts; "words" points to its digits. */
typedef struct StoredNumeric
{
	uint16		header;
	bool		negative;
	int			scale;			/* decimal digits after the point */
	int			weight;			/* of the first digit */
	int			count;			/* of digits */
	const char *words;
} StoredNumeric;

static inline uint16
word_at(const char *words, int i)
{
	uint16		word;

	memcpy(&word, words + sizeof(word) * i, sizeof(word));
	return word;
}

/*
 * Reads the stored form, "len" bytes after the varlena header.  A damaged one
 * may be shorter than what its header promises.
 */
static inline void
read_numeric(StoredNumeric *numeric, const char *data, int len)
{
	uint16		header = word_at(data, 0);

	numeric->header = header;
	if (header & FLAG_SHORT)	/* or special */
	{
		numeric->negative = (header & SHORT_NEGATIVE) != 0;
		numeric->scale = SHORT_SCALE(header);
		numeric->weight = SHORT_WEIGHT(header);
		numeric->words = data + 2;
		numeric->count = Max(len - 2, 0) / 2;
	}
	else
	{
		numeric->negative = (header & LONG_NEGATIVE) != 0;
		numeric->scale = LONG_SCALE(header);
		numeric->weight = len < 4 ? 0 : (int16) word_at(data, 1);
		numeric->words = data + 4;
		numeric->count = Max(len - 4, 0) / 2;
	}
}

/*
 * The digit that counts BASE ^ (weight - i).  A damaged one must not lead out
 * of the table of pairs.
 */
static inline uint32
digit_at(const StoredNumeric *numeric, int i)
{
	uint32		digit;

	if (i < 0 || i >= numeric->count)
		return 0;
	digit = word_at(numeric->words, i);
	return likely(digit < BASE) ? digit : digit % BASE;
}

/* Writes a number that is no special value. */
static inline char *
put_finite(char *p, const StoredNumeric *numeric)
{
	int			i = 0;

	if (numeric->negative)
		*p++ = '-';

	if (numeric->weight < 0)
	{
		*p++ = '0';
		i = numeric->weight + 1;
	}
	else
	{
		p = put_up_to_4_digits(p, digit_at(numeric, i));
		for (i = 1; i <= numeric->weight; i++)
			p = put_4_digits(p, digit_at(numeric, i));
	}

	if (numeric->scale > 0)
	{
		char	   *end;

		*p++ = '.';
		end = p + numeric->scale;
		for (; p < end; i++)
			p = put_4_digits(p, digit_at(numeric, i));
		p = end;				/* drops digits beyond the scale */
	}
	return p;
}

/*
 * The most bytes put_numeric() writes for a value stored in "len" bytes at
 * "data".
 */
int
numeric_text_room(const char *data, int len)
{
	StoredNumeric numeric;

	read_numeric(&numeric, data, len);
	return Max(numeric.weight + 1, 1) * DIGITS_OF_BASE +
		numeric.scale + DIGITS_OF_BASE + 12;
}

/*
 * Writes the text of the numeric stored in "len" bytes at "data", as
 * numeric_out does, and returns its end.
 */
char *
put_numeric(char *p, const char *data, int len)
{
	StoredNumeric numeric;
	const char *name;

	read_numeric(&numeric, data, len);
	if (likely((numeric.header & FLAG_BITS) != FLAG_SPECIAL))
		return put_finite(p, &numeric);

	if (numeric.header == SPECIAL_INFINITY)
		name = "Infinity";
	else if (numeric.header == SPECIAL_NEGATIVE_INFINITY)
		name = "-Infinity";
	else
		name = "NaN";
	strcpy(p, name);
	return p + strlen(name);
}

/* as numeric_out */
void
encode_numeric_text(StringInfo out, Datum value, TypeEncoder *encoder)
{
	struct varlena *numeric = unpacked_varlena(value);
	const char *data = VARDATA_ANY(numeric);
	int			len = VARSIZE_ANY_EXHDR(numeric);
	char	   *p = value_begin(out, LOGICALREP_COLUMN_TEXT,
								numeric_text_room(data, len));

	value_end(out, put_numeric(p, data, len));
}

/* Writes a word in network order. */
static inline char *
put_word(char *p, uint16 word)
{
	word = pg_hton16(word);
	memcpy(p, &word, sizeof(word));
	return p + sizeof(word);
}

/*
 * as numeric_send: the number of digits, weight, sign, scale and the digits.
 * For special values, the weight and scale are whatever their headers read as.
 */
void
encode_numeric_binary(StringInfo out, Datum value, TypeEncoder *encoder)
{
	struct varlena *varlena = unpacked_varlena(value);
	StoredNumeric numeric;
	uint16		sign;
	char	   *p;
	int			i;

	read_numeric(&numeric, VARDATA_ANY(varlena), VARSIZE_ANY_EXHDR(varlena));
	if ((numeric.header & FLAG_BITS) == FLAG_SPECIAL)
		sign = numeric.header & SPECIAL_BITS;
	else
		sign = numeric.negative ? LONG_NEGATIVE : 0;

	p = value_begin(out, LOGICALREP_COLUMN_BINARY,
					(4 + numeric.count) * sizeof(uint16));
	p = put_word(p, numeric.count);
	p = put_word(p, numeric.weight);
	p = put_word(p, sign);
	p = put_word(p, numeric.scale);
	for (i = 0; i < numeric.count; i++)
		p = put_word(p, word_at(numeric.words, i));
	value_end(out, p);
}

/* Does an encoder write what the server's function gives for a value? */
static bool
same_as_server(Datum numeric, bool binary)
{
	TypeEncoder encoder = {.binary = binary};
	StringInfoData ours;
	StringInfoData theirs;
	bool		same;

	initStringInfo(&ours);
	initStringInfo(&theirs);
	if (binary)
	{
		bytea	   *bytes = DatumGetByteaPP(DirectFunctionCall1(numeric_send,
																numeric));

		encode_numeric_binary(&ours, numeric, &encoder);
		append_value(&theirs, LOGICALREP_COLUMN_BINARY, VARDATA_ANY(bytes),
					 VARSIZE_ANY_EXHDR(bytes));
		pfree(bytes);
	}
	else
	{
		char	   *text = DatumGetCString(DirectFunctionCall1(numeric_out,
															   numeric));

		encode_numeric_text(&ours, numeric, &encoder);
		append_value(&theirs, LOGICALREP_COLUMN_TEXT, text, strlen(text));
		pfree(text);
	}
	same = ours.len == theirs.len && memcmp(ours.data, theirs.data, ours.len) == 0;
	pfree(ours.data);
	pfree(theirs.data);
	return same;
}

/*
 * check_numeric_form
 *		Error 0A000 if this server stores numeric in another form than the one
 *		known here, which is private to it.
 *
 * A few values of each kind do: short and long headers, special values.
 */
void
check_numeric_form(void)
{
	static const char *const values[] = {
		"0", "-1.5", "12345678901234567890.0987654321", "0.0000012",
		"-1e-200", "9.99e300", "NaN", "Infinity", "-Infinity",
	};

	for (int i = 0; i < lengthof(values); i++)
	{
		Datum		numeric = DirectFunctionCall3(numeric_in,
												  CStringGetDatum(values[i]),
												  ObjectIdGetDatum(InvalidOid),
												  Int32GetDatum(-1));

		if (!same_as_server(numeric, false) || !same_as_server(numeric, true))
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("pgoutput_ext does not know how this server stores values of type numeric"),
					 errdetail("It writes %s in another way than the server does.",
							   values[i]),
					 errhint("Install a pgoutput_ext that was made for this version of PostgreSQL.")));
		pfree(DatumGetPointer(numeric));
	}
}
