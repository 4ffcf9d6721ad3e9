/*-------------------------------------------------------------------------
 *
 * parser.c
 *	  A strict parser of logical replication messages, and its inverse.
 *
 * Called by the SQL functions in reader.c and decode.c, and by the fuzzer,
 * which builds this file outside the server: it includes no server header,
 * allocates nothing and never recurses.
 *
 * The messages are a table, in the order of the protocol documentation.  What
 * the table says is all that is accepted: flags beyond the documented ones, a
 * count or length that reaches over the end, bytes left over are errors.
 *
 *-------------------------------------------------------------------------
 */
#include <stdio.h>
#include <string.h>

#include "reader/parser.h"

const WireMessageSpec wire_messages[] = {
	{'B', "Begin", {
			{WIRE_LSN, "final_lsn"},
			{WIRE_TIMESTAMP, "commit_timestamp"},
			{WIRE_XID, "xid"}
	}},
	{'M', "Message", {
			{WIRE_STREAM_XID, "xid"},
			{WIRE_FLAG, "flags"},
			{WIRE_LSN, "lsn"},
			{WIRE_STRING, "prefix"},
			{WIRE_BYTES, "content"}
	}},
	{'C', "Commit", {
			{WIRE_UNUSED, "flags"},
			{WIRE_LSN, "commit_lsn"},
			{WIRE_LSN, "end_lsn"},
			{WIRE_TIMESTAMP, "commit_timestamp"}
	}},
	{'O', "Origin", {
			{WIRE_LSN, "origin_commit_lsn"},
			{WIRE_STRING, "name"}
	}},
	{'R', "Relation", {
			{WIRE_STREAM_XID, "xid"},
			{WIRE_OID, "relation_oid"},
			{WIRE_STRING, "namespace"},
			{WIRE_STRING, "name"},
			{WIRE_IDENTITY, "replica_identity"},
			{WIRE_COLUMNS, "columns"}
	}},
	{'Y', "Type", {
			{WIRE_STREAM_XID, "xid"},
			{WIRE_OID, "type_oid"},
			{WIRE_STRING, "namespace"},
			{WIRE_STRING, "name"}
	}},
	{'I', "Insert", {
			{WIRE_STREAM_XID, "xid"},
			{WIRE_OID, "relation_oid"},
			{WIRE_NEW_TUPLE, "new"}
	}},
	{'U', "Update", {
			{WIRE_STREAM_XID, "xid"},
			{WIRE_OID, "relation_oid"},
			{WIRE_OPTIONAL_OLD_TUPLE, "old"},
			{WIRE_NEW_TUPLE, "new"}
	}},
	{'D', "Delete", {
			{WIRE_STREAM_XID, "xid"},
			{WIRE_OID, "relation_oid"},
			{WIRE_OLD_TUPLE, "old"}
	}},
	{'T', "Truncate", {
			{WIRE_STREAM_XID, "xid"},
			{WIRE_COUNT, "number_of_relations"},
			{WIRE_TRUNCATE_OPTIONS, "options"},
			{WIRE_RELATIONS, "relation_oids"}
	}},
	{'S', "Stream Start", {
			{WIRE_XID, "xid"},
			{WIRE_FLAG, "first_segment"}
	}},
	{'E', "Stream Stop", {{0}}},
	{'c', "Stream Commit", {
			{WIRE_XID, "xid"},
			{WIRE_UNUSED, "flags"},
			{WIRE_LSN, "commit_lsn"},
			{WIRE_LSN, "end_lsn"},
			{WIRE_TIMESTAMP, "commit_timestamp"}
	}},
	{'A', "Stream Abort", {
			{WIRE_XID, "xid"},
			{WIRE_XID, "subxid"},
			{WIRE_ABORT_LSN, "abort_lsn"},
			{WIRE_ABORT_TIMESTAMP, "abort_timestamp"}
	}},
	{'b', "Begin Prepare", {
			{WIRE_LSN, "prepare_lsn"},
			{WIRE_LSN, "end_lsn"},
			{WIRE_TIMESTAMP, "prepare_timestamp"},
			{WIRE_XID, "xid"},
			{WIRE_STRING, "gid"}
	}},
	{'P', "Prepare", {
			{WIRE_UNUSED, "flags"},
			{WIRE_LSN, "prepare_lsn"},
			{WIRE_LSN, "end_lsn"},
			{WIRE_TIMESTAMP, "prepare_timestamp"},
			{WIRE_XID, "xid"},
			{WIRE_STRING, "gid"}
	}},
	{'K', "Commit Prepared", {
			{WIRE_UNUSED, "flags"},
			{WIRE_LSN, "commit_lsn"},
			{WIRE_LSN, "end_lsn"},
			{WIRE_TIMESTAMP, "commit_timestamp"},
			{WIRE_XID, "xid"},
			{WIRE_STRING, "gid"}
	}},
	{'r', "Rollback Prepared", {
			{WIRE_UNUSED, "flags"},
			{WIRE_LSN, "prepare_end_lsn"},
			{WIRE_LSN, "rollback_end_lsn"},
			{WIRE_TIMESTAMP, "prepare_timestamp"},
			{WIRE_TIMESTAMP, "rollback_timestamp"},
			{WIRE_XID, "xid"},
			{WIRE_STRING, "gid"}
	}},
	{'p', "Stream Prepare", {
			{WIRE_UNUSED, "flags"},
			{WIRE_LSN, "prepare_lsn"},
			{WIRE_LSN, "end_lsn"},
			{WIRE_TIMESTAMP, "prepare_timestamp"},
			{WIRE_XID, "xid"},
			{WIRE_STRING, "gid"}
	}},
	{0}
};

static size_t
remaining(const WireCursor *cursor)
{
	return (size_t) (cursor->end - cursor->at);
}

/* Notes a fault at the cursor, where too few bytes are left; returns false. */
static bool
too_short(const WireCursor *cursor, WireError *error, const char *expected)
{
	error->offset = (size_t) (cursor->at - cursor->start);
	error->expected = expected;
	if (remaining(cursor) == 0)
		snprintf(error->found, sizeof(error->found), "the end of the message");
	else
		snprintf(error->found, sizeof(error->found), "%zu more byte%s",
				 remaining(cursor), remaining(cursor) == 1 ? "" : "s");
	return false;
}

/* Notes a fault at the byte before the cursor; returns false. */
static bool
wrong_byte(const WireCursor *cursor, WireError *error, const char *expected)
{
	unsigned char byte = cursor->at[-1];

	error->offset = (size_t) (cursor->at - cursor->start) - 1;
	error->expected = expected;
	if (byte >= ' ' && byte < 0x7f)
		snprintf(error->found, sizeof(error->found), "byte 0x%02x ('%c')",
				 byte, byte);
	else
		snprintf(error->found, sizeof(error->found), "byte 0x%02x", byte);
	return false;
}

/* Notes a length or count, in the four bytes before the cursor. */
static bool
wrong_length(const WireCursor *cursor, WireError *error, const char *expected,
			 uint64_t length)
{
	error->offset = (size_t) (cursor->at - cursor->start) - 4;
	error->expected = expected;
	snprintf(error->found, sizeof(error->found), "%ld and %zu more byte%s",
			 (long) (int32_t) length, remaining(cursor),
			 remaining(cursor) == 1 ? "" : "s");
	return false;
}

/* Reads a number of "bytes" bytes in network order. */
static bool
read_number(WireCursor *cursor, int bytes, uint64_t *number,
			const char *expected, WireError *error)
{
	if (remaining(cursor) < (size_t) bytes)
		return too_short(cursor, error, expected);

	*number = 0;
	while (bytes-- > 0)
		*number = *number << 8 | *cursor->at++;
	return true;
}

static bool
read_string(WireCursor *cursor, const unsigned char **data, size_t *length,
			WireError *error)
{
	const unsigned char *zero = NULL;

	if (remaining(cursor) > 0)
		zero = memchr(cursor->at, 0, remaining(cursor));
	if (zero == NULL)
		return too_short(cursor, error, "a String and its terminating zero byte");

	*data = cursor->at;
	*length = (size_t) (zero - cursor->at);
	cursor->at = zero + 1;
	return true;
}

static bool
read_bytes(WireCursor *cursor, const unsigned char **data, size_t *length,
		   WireError *error)
{
	uint64_t	number = 0;

	if (!read_number(cursor, 4, &number, "an Int32 length", error))
		return false;
	if (number > INT32_MAX || number > remaining(cursor))
		return wrong_length(cursor, error,
							"a length of at most the remaining bytes", number);

	*data = cursor->at;
	*length = (size_t) number;
	cursor->at += number;
	return true;
}

static bool
read_value(WireCursor *cursor, WireValue *value, WireError *error)
{
	uint64_t	kind = 0;

	if (!read_number(cursor, 1, &kind, "Byte1 'n', 'u', 't' or 'b'", error))
		return false;
	value->kind = (char) kind;
	value->data = NULL;
	value->length = 0;
	switch (value->kind)
	{
		case 'n':
		case 'u':
			return true;
		case 't':
		case 'b':
			return read_bytes(cursor, &value->data, &value->length, error);
	}
	return wrong_byte(cursor, error, "Byte1 'n', 'u', 't' or 'b'");
}

static bool
read_column(WireCursor *cursor, WireColumn *column, WireError *error)
{
	uint64_t	number = 0;
	const unsigned char *name = NULL;

	if (!read_number(cursor, 1, &number, "Int8 flags of a column", error))
		return false;
	if (number > 1)
		return wrong_byte(cursor, error, "column flags 0 or 1");
	column->flags = (uint8_t) number;
	if (!read_string(cursor, &name, &column->name_length, error))
		return false;
	column->name = (const char *) name;
	if (!read_number(cursor, 4, &number, "Int32 type OID of a column", error))
		return false;
	column->type = (uint32_t) number;
	if (!read_number(cursor, 4, &number, "Int32 type modifier of a column",
					 error))
		return false;
	column->typmod = (int32_t) (uint32_t) number;
	return true;
}

/* Reads an Int16 count and as many values or columns. */
static bool
read_items(WireCursor *cursor, WireField *field, WireError *error)
{
	WireValue	value;
	WireColumn	column;

	if (!read_number(cursor, 2, &field->number, "an Int16 number of columns",
					 error))
		return false;

	field->data = cursor->at;
	for (uint64_t i = 0; i < field->number; i++)
	{
		if (field->spec->kind == WIRE_COLUMNS
			? !read_column(cursor, &column, error)
			: !read_value(cursor, &value, error))
			return false;
	}
	field->length = (size_t) (cursor->at - field->data);
	return true;
}

static bool
read_tuple(WireCursor *cursor, WireField *field, const char *markers,
		   const char *expected, WireError *error)
{
	uint64_t	marker = 0;

	if (!read_number(cursor, 1, &marker, expected, error))
		return false;
	if (marker == 0 || strchr(markers, (int) marker) == NULL)
		return wrong_byte(cursor, error, expected);
	field->marker = (char) marker;
	return read_items(cursor, field, error);
}

/* Reads the OIDs of a Truncate, whose number an earlier field gave. */
static bool
read_relations(WireCursor *cursor, WireField *field,
			   const WireMessage *message, WireError *error)
{
	field->number = wire_field(message, WIRE_COUNT)->number;
	if (field->number > remaining(cursor) / 4)
		return too_short(cursor, error, "as many Int32 OIDs as announced");

	field->data = cursor->at;
	field->length = (size_t) field->number * 4;
	cursor->at += field->length;
	return true;
}

/* Reads an Int8 that the documentation allows only some values. */
static bool
read_int8(WireCursor *cursor, WireField *field, const char *allowed,
		  size_t nallowed, const char *expected, WireError *error)
{
	if (!read_number(cursor, 1, &field->number, expected, error))
		return false;
	if (memchr(allowed, (int) field->number, nallowed) == NULL)
		return wrong_byte(cursor, error, expected);
	return true;
}

/*
 * Reads the field that "field->spec" describes.  The caller has left out what
 * is not there.
 */
static bool
read_field(WireCursor *cursor, WireField *field, const WireMessage *message,
		   WireError *error)
{
	switch (field->spec->kind)
	{
		case WIRE_END:
			break;
		case WIRE_UNUSED:
			return read_int8(cursor, field, "\0", 1, "Int8 0", error);
		case WIRE_FLAG:
			return read_int8(cursor, field, "\0\1", 2, "Int8 0 or 1", error);
		case WIRE_TRUNCATE_OPTIONS:
			return read_int8(cursor, field, "\0\1\2\3", 4, "Int8 0 to 3",
							 error);
		case WIRE_IDENTITY:
			return read_int8(cursor, field, "dnfi", 4,
							 "Int8 'd', 'n', 'f' or 'i'", error);
		case WIRE_XID:
		case WIRE_STREAM_XID:
			return read_number(cursor, 4, &field->number,
							   "an Int32 transaction ID", error);
		case WIRE_OID:
			return read_number(cursor, 4, &field->number, "an Int32 OID",
							   error);
		case WIRE_COUNT:
			return read_number(cursor, 4, &field->number,
							   "an Int32 number of relations", error);
		case WIRE_LSN:
		case WIRE_ABORT_LSN:
			return read_number(cursor, 8, &field->number, "an Int64 LSN",
							   error);
		case WIRE_TIMESTAMP:
		case WIRE_ABORT_TIMESTAMP:
			return read_number(cursor, 8, &field->number,
							   "an Int64 timestamp", error);
		case WIRE_STRING:
			return read_string(cursor, &field->data, &field->length, error);
		case WIRE_BYTES:
			return read_bytes(cursor, &field->data, &field->length, error);
		case WIRE_COLUMNS:
			return read_items(cursor, field, error);
		case WIRE_RELATIONS:
			return read_relations(cursor, field, message, error);
		case WIRE_NEW_TUPLE:
			return read_tuple(cursor, field, "N", "Byte1 'N'", error);
		case WIRE_OLD_TUPLE:
			return read_tuple(cursor, field, "KO", "Byte1 'K' or 'O'", error);
		case WIRE_OPTIONAL_OLD_TUPLE:
			return read_tuple(cursor, field, "KO", "Byte1 'K', 'O' or 'N'",
							  error);
	}
	return false;
}

/* Is the field left out of this message? */
static bool
is_absent(const WireFieldSpec *spec, bool in_stream, const WireCursor *cursor)
{
	switch (spec->kind)
	{
		case WIRE_STREAM_XID:
			return !in_stream;
		case WIRE_ABORT_LSN:
			return remaining(cursor) == 0;
		case WIRE_OPTIONAL_OLD_TUPLE:
			return remaining(cursor) > 0 && *cursor->at == 'N';
		default:
			return false;
	}
}

/* Does the field have parts, whose number the message says? */
static bool
has_items(WireFieldKind kind)
{
	return kind == WIRE_COLUMNS || kind == WIRE_NEW_TUPLE ||
		kind == WIRE_OLD_TUPLE || kind == WIRE_OPTIONAL_OLD_TUPLE;
}

/*
 * Parses a message, or of one with a tuple or columns only what is in front of
 * them.
 */
static bool
parse(const unsigned char *data, size_t length, bool in_stream,
	  bool head_only, WireMessage *message, WireError *error)
{
	WireCursor	cursor = {data, data, data + length};
	const WireMessageSpec *spec = wire_messages;
	uint64_t	type = 0;

	message->nfields = 0;
	memset(error, 0, sizeof(*error));

	if (!read_number(&cursor, 1, &type, "a message type", error))
		return false;
	while (spec->type != 0 && spec->type != (char) type)
		spec++;
	if (spec->type == 0)
		return wrong_byte(&cursor, error, "a documented message type");

	message->spec = spec;
	error->message = spec->name;
	for (int i = 0; i < WIRE_MAX_FIELDS; i++)
	{
		WireField  *field = &message->fields[message->nfields];

		if (spec->fields[i].kind == WIRE_END)
			break;
		if (head_only && has_items(spec->fields[i].kind))
			return true;
		if (is_absent(&spec->fields[i], in_stream, &cursor))
		{
			if (spec->fields[i].kind == WIRE_ABORT_LSN)
				break;			/* the timestamp is not there either */
			continue;
		}

		memset(field, 0, sizeof(*field));
		field->spec = &spec->fields[i];
		error->field = field->spec->name;
		if (!read_field(&cursor, field, message, error))
			return false;
		message->nfields++;
	}

	error->field = NULL;
	if (remaining(&cursor) > 0)
		return too_short(&cursor, error, "the end of the message");
	return true;
}

bool
wire_parse(const unsigned char *data, size_t length, bool in_stream,
		   WireMessage *message, WireError *error)
{
	return parse(data, length, in_stream, false, message, error);
}

bool
wire_parse_head(const unsigned char *data, size_t length, bool in_stream,
				WireMessage *message, WireError *error)
{
	return parse(data, length, in_stream, true, message, error);
}

WireCursor
wire_first(const WireField *field)
{
	WireCursor	cursor = {field->data, field->data, field->data + field->length};

	return cursor;
}

/* The items were checked by wire_parse(), so that reading them cannot fail. */
WireValue
wire_next_value(WireCursor *cursor)
{
	WireValue	value = {0};
	WireError	error;

	(void) read_value(cursor, &value, &error);
	return value;
}

WireColumn
wire_next_column(WireCursor *cursor)
{
	WireColumn	column = {0};
	WireError	error;

	(void) read_column(cursor, &column, &error);
	return column;
}

uint32_t
wire_next_oid(WireCursor *cursor)
{
	uint64_t	number = 0;
	WireError	error;

	(void) read_number(cursor, 4, &number, "", &error);
	return (uint32_t) number;
}

const WireField *
wire_field(const WireMessage *message, WireFieldKind kind)
{
	for (int i = 0; i < message->nfields; i++)
		if (message->fields[i].spec->kind == kind)
			return &message->fields[i];
	return NULL;
}
