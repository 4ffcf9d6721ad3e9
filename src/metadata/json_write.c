/*-------------------------------------------------------------------------
 *
 * json_write.c
 *	  Writes JSON text.
 *
 * Called by the metadata frames.  Appends to the caller's buffer and allocates
 * nothing else.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/json.h"

#include "metadata/json_write.h"

/*
 * A value or key follows: with a comma, unless it is the first.  A string ends
 * with its quote, so that the last character tells.
 */
static void
separate(StringInfo out)
{
	if (out->len > 0 && strchr("{[:", out->data[out->len - 1]) == NULL)
		appendStringInfoChar(out, ',');
}

/* Opens an object or array, with its opening bracket. */
void
jw_open(StringInfo out, char bracket)
{
	separate(out);
	appendStringInfoChar(out, bracket);
}

/* Closes it, with its closing bracket. */
void
jw_close(StringInfo out, char bracket)
{
	appendStringInfoChar(out, bracket);
}

/* The key of the member whose value is appended next. */
void
jw_key(StringInfo out, const char *key)
{
	separate(out);
	escape_json(out, key);
	appendStringInfoChar(out, ':');
}

void
jw_string(StringInfo out, const char *value)
{
	separate(out);
	if (value)
		escape_json(out, value);
	else
		appendStringInfoString(out, "null");
}

void
jw_string_member(StringInfo out, const char *key, const char *value)
{
	jw_key(out, key);
	jw_string(out, value);
}

void
jw_integer_member(StringInfo out, const char *key, int64 value)
{
	jw_key(out, key);
	appendStringInfo(out, INT64_FORMAT, value);
}

void
jw_bool_member(StringInfo out, const char *key, bool value)
{
	jw_key(out, key);
	appendStringInfoString(out, value ? "true" : "false");
}
