/*-------------------------------------------------------------------------
 *
 * message_json.h
 *	  Shows a parsed message as jsonb.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PGOUTPUT_EXT_MESSAGE_JSON_H
#define PGOUTPUT_EXT_MESSAGE_JSON_H

#include "reader/announced.h"
#include "reader/json_build.h"
#include "reader/parser.h"

/* One message as the reader's functions show it; NULL where there is nothing. */
typedef struct MessageRow
{
	const char *message;		/* the documentation's name */
	const char *relation;
	Jsonb	   *old;
	Jsonb	   *new;
	Jsonb	   *detail;
} MessageRow;

/* Parses a message; ERROR 22P03 saying where and what was expected. */
extern void parse_message(const char *data, Size length, bool in_stream,
						  WireMessage *message);

/* The same for the fields in front of a tuple or of columns alone. */
extern void parse_message_head(const char *data, Size length, bool in_stream,
							   WireMessage *message);

/*
 * Adds a field under its own name, if it is a scalar, a string or bytes; false
 * for others, which are not added.
 */
extern bool add_scalar_field(JsonObject *object, const WireField *field);

/*
 * Describes a message that stream_state_note() has seen, in
 * CurrentMemoryContext.  ERROR 22P03 if it does not fit its Relation.
 */
extern MessageRow describe_message(StreamState *state,
								   const WireMessage *message);

#endif							/* PGOUTPUT_EXT_MESSAGE_JSON_H */
