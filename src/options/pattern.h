/*-------------------------------------------------------------------------
 *
 * pattern.h
 *	  Lists of names and name patterns, as options give them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PGOUTPUT_EXT_PATTERN_H
#define PGOUTPUT_EXT_PATTERN_H

#include "nodes/pg_list.h"

/* The most parts that a pattern has: schema.table.column. */
#define PATTERN_MAX_PARTS 3

/*
 * A name with what may stand before and behind it: any part of a name where a
 * "*" was.  A lone "*" is a name of no length with any rest behind it.
 */
typedef struct NamePart
{
	char	   *name;
	size_t		length;
	bool		any_before;
	bool		any_behind;
} NamePart;

/* One element of a list: names joined by dots. */
typedef struct NamePattern
{
	NamePart	parts[PATTERN_MAX_PARTS];
} NamePattern;

/* One element of a list of prefixes; "open" if any rest may follow. */
typedef struct PrefixPattern
{
	char	   *prefix;
	size_t		length;
	bool		open;
} PrefixPattern;

extern const char *list_skip_space(const char *s);
extern bool list_read_quoted(const char **s, char **string);

extern bool pattern_parse_names(const char *list, List **names);
extern bool pattern_parse_prefixes(const char *list, List **prefixes);
extern bool pattern_parse(const char *list, int nparts, List **patterns);

extern bool pattern_list_matches(List *patterns, int nparts,
								 const char *const *names);
extern bool pattern_equal(const NamePattern *a, const NamePattern *b);
extern bool prefix_lists_want(List *include, List *exclude,
							  const char *string);
extern bool name_list_contains(List *names, const char *name);

#endif							/* PGOUTPUT_EXT_PATTERN_H */
