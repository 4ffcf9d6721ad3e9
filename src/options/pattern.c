/*-------------------------------------------------------------------------
 *
 * pattern.c
 *	  Lists of names and name patterns, as options give them.
 *
 * A list's elements are separated by commas and follow the rules of SQL
 * identifiers: what is not quoted is folded to lower case and ends before
 * white space; double quotes protect everything between them, and "" within
 * them is one quote.  A "*" outside of quotes stands for any name, or any
 * beginning or end of one.
 *
 * The parsers are called once per session by options.c and allocate in the
 * current memory context; the matchers allocate nothing.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "parser/scansup.h"

#include "options/pattern.h"

/* A name as read from a list. */
typedef struct NameToken
{
	char	   *name;
	bool		quoted;
	bool		star_before;	/* a "*" begins it, which "name" leaves out */
	bool		star;			/* a "*" ends it, which "name" leaves out */
} NameToken;

/* Moves over white space. */
const char *
list_skip_space(const char *s)
{
	while (scanner_isspace(*s))
		s++;
	return s;
}

/*
 * list_read_quoted
 *		Reads what stands in double quotes, in which two of them are one, into
 *		"*string"; "*s" points at the opening quote, and then behind the closing
 *		one.  False if there is none.
 */
bool
list_read_quoted(const char **s, char **string)
{
	const char *p = *s + 1;
	char	   *to;

	to = *string = palloc(strlen(p) + 1);
	for (;; p++)
	{
		if (*p == '\0')
			return false;
		if (*p == '"' && *++p != '"')
			break;
		*to++ = *p;
	}
	*to = '\0';
	*s = p;
	return true;
}

static bool
ends_name(char c, const char *stop)
{
	return c == '\0' || c == ',' || scanner_isspace(c) || strchr(stop, c) != NULL;
}

/*
 * Reads one name, ended by white space, a comma, a quote or one of the bytes
 * of "stop"; moves "*s" behind it.  False if there is none.
 */
static bool
read_name(const char **s, const char *stop, NameToken *token)
{
	const char *p = *s;

	memset(token, 0, sizeof(*token));
	if (*p == '*' && p[1] != '*' && !ends_name(p[1], stop))
	{
		token->star_before = true;
		p++;
	}
	if (*p == '"')
	{
		token->quoted = true;
		if (!list_read_quoted(&p, &token->name))
			return false;
	}
	else
	{
		const char *start = p;

		while (*p && *p != ',' && *p != '"' && *p != '*' &&
			   !scanner_isspace(*p) && strchr(stop, *p) == NULL)
			p++;
		if (p == start && *p != '*')
			return false;
		token->name = downcase_identifier(start, p - start, false, false);
	}
	if (*p == '*')
	{
		token->star = true;
		p++;
	}
	*s = p;
	return true;
}

/* Moves to the next element; sets "*more" to whether there is one. */
static bool
next_element(const char **s, bool *more)
{
	const char *p = list_skip_space(*s);

	*more = *p == ',';
	if (*p != '\0' && !*more)
		return false;
	*s = *more ? list_skip_space(p + 1) : p;
	return true;
}

/*
 * pattern_parse_names
 *		Parses a list of plain names into a List of char *.
 *
 * Returns false if the list is not well formed.  "" is a name of no length.
 */
bool
pattern_parse_names(const char *list, List **names)
{
	const char *s = list_skip_space(list);
	bool		more = *s != '\0';

	*names = NIL;
	while (more)
	{
		NameToken	token;

		if (!read_name(&s, "", &token) || token.star || token.star_before ||
			!next_element(&s, &more))
			return false;
		*names = lappend(*names, token.name);
	}
	return true;
}

/*
 * pattern_parse_prefixes
 *		Parses a list of prefixes into a List of PrefixPattern *.
 *
 * A "*" at the end of an element, outside of quotes, makes it match any rest.
 * Returns false if the list is not well formed.
 */
bool
pattern_parse_prefixes(const char *list, List **prefixes)
{
	const char *s = list_skip_space(list);
	bool		more = *s != '\0';

	*prefixes = NIL;
	while (more)
	{
		NameToken	token;
		PrefixPattern *prefix = palloc(sizeof(PrefixPattern));

		if (!read_name(&s, "", &token) || token.star_before ||
			!next_element(&s, &more))
			return false;
		prefix->prefix = token.name;
		prefix->length = strlen(token.name);
		prefix->open = token.star;
		*prefixes = lappend(*prefixes, prefix);
	}
	return true;
}

/*
 * pattern_parse
 *		Parses a list of patterns of "nparts" names joined by dots into a List
 *		of NamePattern *.
 *
 * Each part is a name, with a "*" before or behind it for any other beginning
 * or end, or "*" alone; a whole name that is too long for the catalogs is cut
 * like everywhere in SQL, and white space may stand around dots.  Returns
 * false if the list is not well formed.
 */
bool
pattern_parse(const char *list, int nparts, List **patterns)
{
	const char *s = list_skip_space(list);
	bool		more = *s != '\0';

	*patterns = NIL;
	while (more)
	{
		NamePattern *pattern = palloc0(sizeof(NamePattern));

		for (int i = 0; i < nparts; i++)
		{
			NameToken	token;

			if (i > 0)
			{
				s = list_skip_space(s);
				if (*s != '.')
					return false;
				s = list_skip_space(s + 1);
			}
			if (!read_name(&s, ".", &token))
				return false;
			if (token.name[0] == '\0' &&
				(token.quoted || token.star_before || !token.star))
				return false;
			if (!token.star && !token.star_before)
				truncate_identifier(token.name, strlen(token.name), false);
			pattern->parts[i].name = token.name;
			pattern->parts[i].length = strlen(token.name);
			pattern->parts[i].any_before = token.star_before;
			pattern->parts[i].any_behind = token.star;
		}
		if (!next_element(&s, &more))
			return false;
		*patterns = lappend(*patterns, pattern);
	}
	return true;
}

static bool
part_matches(const NamePart *part, const char *name)
{
	size_t		length;

	if (part->any_before && part->any_behind)
		return strstr(name, part->name) != NULL;
	if (part->any_behind)
		return strncmp(part->name, name, part->length) == 0;
	if (!part->any_before)
		return strcmp(part->name, name) == 0;
	length = strlen(name);
	return length >= part->length &&
		strcmp(part->name, name + length - part->length) == 0;
}

/* Does one of the patterns match "nparts" names? */
bool
pattern_list_matches(List *patterns, int nparts, const char *const *names)
{
	ListCell   *lc;

	foreach(lc, patterns)
	{
		NamePattern *pattern = lfirst(lc);
		int			i;

		for (i = 0; i < nparts; i++)
		{
			if (!part_matches(&pattern->parts[i], names[i]))
				break;
		}
		if (i == nparts)
			return true;
	}
	return false;
}

/* Are two patterns the same? */
bool
pattern_equal(const NamePattern *a, const NamePattern *b)
{
	for (int i = 0; i < PATTERN_MAX_PARTS; i++)
	{
		const NamePart *x = &a->parts[i];
		const NamePart *y = &b->parts[i];

		/* there are fewer than the most */
		if (x->name == NULL || y->name == NULL)
			return x->name == y->name;
		if (x->any_before != y->any_before || x->any_behind != y->any_behind ||
			strcmp(x->name, y->name) != 0)
			return false;
	}
	return true;
}

/* Does one of the prefixes match the string? */
static bool
prefix_list_matches(List *prefixes, const char *string)
{
	ListCell   *lc;

	foreach(lc, prefixes)
	{
		PrefixPattern *prefix = lfirst(lc);

		if (strncmp(prefix->prefix, string, prefix->length) == 0 &&
			(prefix->open || string[prefix->length] == '\0'))
			return true;
	}
	return false;
}

/* Is a string wanted by its prefix?  No list to include it is one of all. */
bool
prefix_lists_want(List *include, List *exclude, const char *string)
{
	return (include == NIL || prefix_list_matches(include, string)) &&
		!prefix_list_matches(exclude, string);
}

/* Is the name in a list of char *? */
bool
name_list_contains(List *names, const char *name)
{
	ListCell   *lc;

	foreach(lc, names)
	{
		if (strcmp((const char *) lfirst(lc), name) == 0)
			return true;
	}
	return false;
}
