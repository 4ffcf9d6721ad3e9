/*-------------------------------------------------------------------------
 *
 * canonical.c
 *	  The settings of value_format = canonical.
 *
 * Set at the start of each transaction of a session with that option, and
 * while a metadata frame is made, which shows SQL text.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/float.h"
#include "utils/guc.h"

#include "values/canonical.h"

typedef struct CanonicalSetting
{
	const char *name;
	const char *value;
} CanonicalSetting;

/*
 * Settings that text values depend on, and what "canonical" makes of them.
 * Names of objects, as regclass and its kin show them, get their schema.
 */
static const CanonicalSetting canonical_settings[] = {
	{"DateStyle", "ISO"},
	{"IntervalStyle", "postgres"},
	{"TimeZone", "UTC"},
	{"bytea_output", "hex"},
	{"lc_monetary", "C"},
	{"xmlbinary", "base64"},
	{"search_path", "pg_catalog, pg_temp"},
	{"quote_all_identifiers", "off"},
};

/* Is a setting what "canonical" makes of it? */
static bool
setting_is_canonical(const char *current, const char *value)
{
	size_t		length = strlen(value);

	if (strcmp(current, value) == 0)
		return true;
	/* DateStyle has the order of input behind the style */
	return strcmp(value, "ISO") == 0 &&
		strncmp(current, value, length) == 0 && current[length] == ',';
}

/*
 * set_canonical_format
 *		Makes the settings canonical until the end of the (sub)transaction that
 *		the server decodes in, or of an inner level of settings; that takes
 *		them back, also after an error.
 */
void
set_canonical_format(void)
{
	for (int i = 0; i < lengthof(canonical_settings); i++)
	{
		const char *name = canonical_settings[i].name;
		const char *value = canonical_settings[i].value;

		if (!setting_is_canonical(GetConfigOption(name, false, false), value))
			(void) set_config_option(name, value, PGC_USERSET, PGC_S_SESSION,
									 GUC_ACTION_SAVE, true, 0, false);
	}
	if (extra_float_digits < 1)
		(void) set_config_option("extra_float_digits", "1", PGC_USERSET,
								 PGC_S_SESSION, GUC_ACTION_SAVE, true, 0,
								 false);
}
