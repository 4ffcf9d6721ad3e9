/*-------------------------------------------------------------------------
 *
 * json_write.h
 *	  Writes JSON text.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PGOUTPUT_EXT_JSON_WRITE_H
#define PGOUTPUT_EXT_JSON_WRITE_H

#include "lib/stringinfo.h"

/*
 * Each appends to "out" and puts the comma before what it appends where one is
 * due.  Strings are in the server encoding and stay in it; NULL becomes null.
 */
extern void jw_open(StringInfo out, char bracket);
extern void jw_close(StringInfo out, char bracket);
extern void jw_key(StringInfo out, const char *key);
extern void jw_string(StringInfo out, const char *value);

/* A member of an object. */
extern void jw_string_member(StringInfo out, const char *key,
							 const char *value);
extern void jw_integer_member(StringInfo out, const char *key, int64 value);
extern void jw_bool_member(StringInfo out, const char *key, bool value);

#endif							/* PGOUTPUT_EXT_JSON_WRITE_H */
