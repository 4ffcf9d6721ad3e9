/*-------------------------------------------------------------------------
 *
 * setting.c
 *	  The library's settings: pgoutput_ext.options, options of sessions whose
 *	  client does not give them, and pgoutput_ext.max_tuple_plans, a limit.
 *
 * Defined when the library is loaded.  Its content is read when a session
 * starts, in the decoding context's memory context, and not checked before: a
 * setting with a check would lose a wrong value with a mere warning, and the
 * session would start without the options.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/makefuncs.h"
#include "parser/scansup.h"
#include "utils/guc.h"

#include "compat.h"
#include "options/pattern.h"
#include "options/setting.h"

static char *setting_value = NULL;

/* How many tuple plans a session keeps; others are built again when needed. */
int			setting_max_tuple_plans = 16384;

/*
 * setting_define
 *		Defines the settings.  Only a superuser can set them, for himself, a
 *		role, a database or the server, or who was granted that.
 */
void
setting_define(void)
{
	DefineCustomStringVariable(SETTING_NAME,
							   "Options of pgoutput_ext that hold where the client gives none.",
							   "Pairs of name and value, separated by commas; a value is a word or stands in double quotes.",
							   &setting_value, "", PGC_SUSET, 0,
							   NULL, NULL, NULL);
	DefineCustomIntVariable("pgoutput_ext.max_tuple_plans",
							"How many relations' row encodings a session keeps prepared.",
							"Less takes less memory, and time for those that are prepared again.",
							&setting_max_tuple_plans, 16384, 1, INT_MAX,
							PGC_SUSET, GUC_NOT_IN_SAMPLE, NULL, NULL, NULL);
	MarkGUCPrefixReserved("pgoutput_ext");
}

static void
report_syntax(const char *at)
{
	ereport(ERROR,
			(errcode(ERRCODE_SYNTAX_ERROR),
			 errmsg("invalid value for setting \"%s\": \"%s\"",
					SETTING_NAME, setting_value),
			 *at ? errdetail("Something is missing or odd at: %s", at) :
			 errdetail("Something is missing at its end."),
			 errhint("List pairs of an option's name and value, separated by commas, such as: unchanged_toast fill, exclude_tables \"s.t, *.u\".")));
}

/* Reads a word, up to white space, a comma or a quote. */
static char *
read_word(const char **s)
{
	const char *start = *s;
	const char *p = start;

	while (*p && *p != ',' && *p != '"' && !scanner_isspace(*p))
		p++;
	if (p == start)
		report_syntax(start);
	*s = p;
	return pnstrdup(start, p - start);
}

static char *
read_value(const char **s)
{
	char	   *value;

	if (**s != '"')
		return read_word(s);
	if (!list_read_quoted(s, &value))
		report_syntax(*s);
	return value;
}

/*
 * setting_options
 *		What the setting says, as a List of DefElem like the client's options;
 *		NIL if it is empty.
 *
 * ERRCODE_SYNTAX_ERROR if it is not well formed.  Names and values are not
 * looked at.
 */
List *
setting_options(void)
{
	const char *s = list_skip_space(setting_value ? setting_value : "");
	List	   *options = NIL;

	while (*s)
	{
		char	   *name = read_word(&s);
		char	   *value;

		s = list_skip_space(s);
		value = read_value(&s);
		options = lappend(options,
						  makeDefElem(downcase_identifier(name, strlen(name), false, false),
									  (Node *) makeString(value), -1));
		s = list_skip_space(s);
		if (*s == ',')
		{
			s = list_skip_space(s + 1);
			if (*s == '\0')
				report_syntax(s);
		}
		else if (*s)
			report_syntax(s);
	}
	return options;
}
