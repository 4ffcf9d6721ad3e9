/*-------------------------------------------------------------------------
 *
 * parser.h
 *	  A strict parser of logical replication messages.
 *
 * The parser allocates nothing and knows nothing of the server: it checks one
 * message from its first to its last byte and says where the fields are.  The
 * repeated parts (values of a tuple, columns of a relation, truncated
 * relations) are then walked with the wire_next_* functions.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PGOUTPUT_EXT_PARSER_H
#define PGOUTPUT_EXT_PARSER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* the message with most fields is Relation in a stream, with six */
#define WIRE_MAX_FIELDS 7

typedef enum WireFieldKind
{
	WIRE_END = 0,				/* no more fields */
	WIRE_UNUSED,				/* Int8, always 0 */
	WIRE_FLAG,					/* Int8, 0 or 1 */
	WIRE_TRUNCATE_OPTIONS,		/* Int8, bits 1 and 2 */
	WIRE_IDENTITY,				/* Int8, a replica identity letter */
	WIRE_XID,					/* Int32, transaction id */
	WIRE_STREAM_XID,			/* the same, only inside a stream */
	WIRE_OID,					/* Int32 */
	WIRE_LSN,					/* Int64 */
	WIRE_TIMESTAMP,				/* Int64, microseconds since 2000-01-01 UTC */
	WIRE_ABORT_LSN,				/* WIRE_LSN, absent when the message ends here */
	WIRE_ABORT_TIMESTAMP,		/* WIRE_TIMESTAMP, present with the above */
	WIRE_STRING,				/* terminated by a zero byte */
	WIRE_BYTES,					/* Int32 length and that many bytes */
	WIRE_COLUMNS,				/* Int16 count and column descriptions */
	WIRE_COUNT,					/* Int32 count of the relations below */
	WIRE_RELATIONS,				/* as many OIDs as the WIRE_COUNT said */
	WIRE_NEW_TUPLE,				/* 'N' and TupleData */
	WIRE_OLD_TUPLE,				/* 'K' or 'O' and TupleData */
	WIRE_OPTIONAL_OLD_TUPLE		/* the same, or nothing */
} WireFieldKind;

typedef struct WireFieldSpec
{
	WireFieldKind kind;
	const char *name;			/* as shown to the user */
} WireFieldSpec;

typedef struct WireMessageSpec
{
	char		type;			/* first byte of the message */
	const char *name;			/* the documentation's name */
	WireFieldSpec fields[WIRE_MAX_FIELDS];
} WireMessageSpec;

/* One field found in a message.  Points into the message. */
typedef struct WireField
{
	const WireFieldSpec *spec;
	uint64_t	number;			/* scalar value, or number of items */
	const unsigned char *data;	/* string, bytes, or the items */
	size_t		length;			/* of data, without a string's zero byte */
	char		marker;			/* tuples: 'N', 'K' or 'O' */
} WireField;

typedef struct WireMessage
{
	const WireMessageSpec *spec;
	int			nfields;
	WireField	fields[WIRE_MAX_FIELDS];
} WireMessage;

/* One value of TupleData. */
typedef struct WireValue
{
	char		kind;			/* 'n', 'u', 't' or 'b' */
	const unsigned char *data;
	size_t		length;
} WireValue;

/* One column of a Relation. */
typedef struct WireColumn
{
	uint8_t		flags;			/* 1: part of the key */
	const char *name;			/* zero terminated */
	size_t		name_length;
	uint32_t	type;
	int32_t		typmod;
} WireColumn;

typedef struct WireError
{
	size_t		offset;			/* where in the message */
	const char *message;		/* documented name, NULL if not known yet */
	const char *field;			/* field being read, or NULL */
	const char *expected;		/* what should be there */
	char		found[48];		/* what is there */
} WireError;

/* Reads on in the items of a field. */
typedef struct WireCursor
{
	const unsigned char *start; /* of the message, for error offsets */
	const unsigned char *at;
	const unsigned char *end;
} WireCursor;

/*
 * Parses the message of "length" bytes.  "in_stream" says whether it stands
 * between Stream Start and Stream Stop.  Returns false and fills "error" if
 * it is not exactly one documented message.
 */
extern bool wire_parse(const unsigned char *data, size_t length,
					   bool in_stream, WireMessage *message,
					   WireError *error);

/*
 * The same for the fields in front of a tuple or of columns, in a time that does
 * not depend on their size: these, and what is behind them, are not looked at.
 */
extern bool wire_parse_head(const unsigned char *data, size_t length,
							bool in_stream, WireMessage *message,
							WireError *error);

/*
 * Walks the items of a field of a message that wire_parse() accepted: call
 * wire_first() and then the function for the field's items field->number
 * times.
 */
extern WireCursor wire_first(const WireField *field);
extern WireValue wire_next_value(WireCursor *cursor);
extern WireColumn wire_next_column(WireCursor *cursor);
extern uint32_t wire_next_oid(WireCursor *cursor);

/* The field of that kind, or NULL. */
extern const WireField *wire_field(const WireMessage *message,
								   WireFieldKind kind);

/* Every documented message; the last has the type 0. */
extern const WireMessageSpec wire_messages[];

#endif							/* PGOUTPUT_EXT_PARSER_H */
