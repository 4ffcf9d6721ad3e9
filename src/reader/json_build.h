/*-------------------------------------------------------------------------
 *
 * json_build.h
 *	  Builds jsonb objects out of parts of messages.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PGOUTPUT_EXT_JSON_BUILD_H
#define PGOUTPUT_EXT_JSON_BUILD_H

#include "utils/jsonb.h"

/* An object whose keys are still to be sorted.  Zeroes are an empty one. */
typedef struct JsonObject
{
	int			npairs;
	int			room;
	JsonbPair  *pairs;
} JsonObject;

/* What values of a type become. */
typedef enum JsonKind
{
	JSON_KIND_TEXT,				/* a string, always */
	JSON_KIND_INTEGER,			/* a number */
	JSON_KIND_NUMBER,			/* a number, NaN and its kin a string */
	JSON_KIND_BOOL,				/* true or false */
	JSON_KIND_JSONB				/* itself, but a scalar is a string */
} JsonKind;

/* Scalars.  The bytes are not copied; text must be valid, see below. */
extern JsonbValue jv_null(void);
extern JsonbValue jv_bool(bool value);
extern JsonbValue jv_integer(int64 value);
extern JsonbValue jv_string(const char *bytes, Size length);
extern JsonbValue jv_cstring(const char *string);

/*
 * A string of bytes from a message; ERROR 22021 if they are not valid text in
 * the server encoding, 54000 if jsonb cannot hold so many.
 */
extern JsonbValue jv_text(const void *bytes, Size length);

/* Bytes as \x and hexadecimal digits; ERROR 54000 if there are too many. */
extern JsonbValue jv_hex(const void *bytes, Size length);

/* Is that text valid, and short enough for jsonb? */
extern bool jv_text_is_valid(const void *bytes, Size length);

/* A column's value from its text form; errors as jv_text(). */
extern JsonbValue jv_typed(JsonKind kind, const void *bytes, Size length);

/* A JSON object or array as itself; false if it is not known to be valid. */
extern bool jv_document(const void *bytes, Size length, JsonbValue *value);

extern void jv_add(JsonObject *object, const char *key, JsonbValue value);
extern JsonbValue jv_object(JsonObject *object);
extern JsonbValue jv_array(JsonbValue *elements, int nelements);

/* Order of keys in a jsonb object, as qsort() wants it. */
extern int	jv_compare_keys(const JsonbValue *a, const JsonbValue *b);

#endif							/* PGOUTPUT_EXT_JSON_BUILD_H */
