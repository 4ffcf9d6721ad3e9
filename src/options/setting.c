/*-------------------------------------------------------------------------
 *
 * setting.c
 *	  The setting pgoutput_ext.options: options of sessions whose client does
 *	  not give them.
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
#include "options/setting.h"

static char *setting_value = NULL;

/*
 * setting_define
 *		Defines the setting.  Only a superuser can set it, for himself, a role,
 *		a database or the server, or who was granted that.
 */
void
setting_define(void)
{
	DefineCustomStringVariable(SETTING_NAME,
							   "Options of pgoutput_ext that hold where the client gives none.",
							   "Pairs of name and value, separated by commas; a value is a word or stands in double quotes.",
							   &setting_value, "", PGC_SUSET, 0,
							   NULL, NULL, NULL);
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

static const char *
skip_space(const char *s)
{
	while (scanner_isspace(*s))
		s++;
	return s;
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

/* Reads a value in double quotes, in which two of them are one. */
static char *
read_quoted(const char **s)
{
	const char *p = *s + 1;
	char	   *result = palloc(strlen(p) + 1);
	char	   *to = result;

	for (;; p++)
	{
		if (*p == '\0')
			report_syntax(*s);
		if (*p == '"' && *++p != '"')
			break;
		*to++ = *p;
	}
	*to = '\0';
	*s = p;
	return result;
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
	const char *s = skip_space(setting_value ? setting_value : "");
	List	   *options = NIL;

	while (*s)
	{
		char	   *name = read_word(&s);
		char	   *value;

		s = skip_space(s);
		value = *s == '"' ? read_quoted(&s) : read_word(&s);
		options = lappend(options,
						  makeDefElem(downcase_identifier(name, strlen(name), false, false),
									  (Node *) makeString(value), -1));
		s = skip_space(s);
		if (*s == ',')
		{
			s = skip_space(s + 1);
			if (*s == '\0')
				report_syntax(s);
		}
		else if (*s)
			report_syntax(s);
	}
	return options;
}
