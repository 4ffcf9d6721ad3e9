/*-------------------------------------------------------------------------
 *
 * json_text.h
 *	  Is this text a number or a document that jsonb takes without an error?
 *
 *-------------------------------------------------------------------------
 */
#ifndef PGOUTPUT_EXT_JSON_TEXT_H
#define PGOUTPUT_EXT_JSON_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Is the text a finite decimal number that a jsonb number holds exactly?  "-0"
 * is not: jsonb would drop the sign of a float's negative zero.
 */
extern bool json_is_number(const char *text, size_t length);

/*
 * Is the text one JSON object or array, nested at most JSON_MAX_DEPTH deep,
 * that jsonb_in() accepts for certain in a database of any encoding?  That the
 * bytes are valid in the encoding is for the caller to check.
 */
extern bool json_is_document(const char *text, size_t length);

#define JSON_MAX_DEPTH 64

#endif							/* PGOUTPUT_EXT_JSON_TEXT_H */
