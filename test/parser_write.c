/*-------------------------------------------------------------------------
 *
 * parser_write.c
 *	  Writes a parsed message again.
 *
 * Called by tests, in the server and in the fuzzer, to show that the parser
 * has understood every byte: what it found is written from the fields alone
 * and must be the same message.  Includes no server header and allocates
 * nothing.
 *
 *-------------------------------------------------------------------------
 */
#include <string.h>

#include "parser_write.h"

typedef struct Output
{
	unsigned char *data;
	size_t		size;
	size_t		length;			/* counts on when there is no room */
} Output;

static void
write_bytes(Output *out, const void *bytes, size_t length)
{
	if (length > 0 && out->length <= out->size &&
		length <= out->size - out->length)
		memcpy(out->data + out->length, bytes, length);
	out->length += length;
}

static void
write_number(Output *out, uint64_t number, int bytes)
{
	while (bytes-- > 0)
	{
		unsigned char byte = (unsigned char) (number >> (8 * bytes));

		write_bytes(out, &byte, 1);
	}
}

static void
write_tuple(Output *out, const WireField *field)
{
	WireCursor	cursor = wire_first(field);

	write_bytes(out, &field->marker, 1);
	write_number(out, field->number, 2);
	for (uint64_t i = 0; i < field->number; i++)
	{
		WireValue	value = wire_next_value(&cursor);

		write_bytes(out, &value.kind, 1);
		if (value.kind == 't' || value.kind == 'b')
		{
			write_number(out, value.length, 4);
			write_bytes(out, value.data, value.length);
		}
	}
}

static void
write_columns(Output *out, const WireField *field)
{
	WireCursor	cursor = wire_first(field);

	write_number(out, field->number, 2);
	for (uint64_t i = 0; i < field->number; i++)
	{
		WireColumn	column = wire_next_column(&cursor);

		write_number(out, column.flags, 1);
		write_bytes(out, column.name, column.name_length);
		write_number(out, 0, 1);
		write_number(out, column.type, 4);
		write_number(out, (uint32_t) column.typmod, 4);
	}
}

static void
write_field(Output *out, const WireField *field)
{
	WireCursor	cursor;

	switch (field->spec->kind)
	{
		case WIRE_END:
			break;
		case WIRE_UNUSED:
		case WIRE_FLAG:
		case WIRE_TRUNCATE_OPTIONS:
		case WIRE_IDENTITY:
			write_number(out, field->number, 1);
			break;
		case WIRE_XID:
		case WIRE_STREAM_XID:
		case WIRE_OID:
		case WIRE_COUNT:
			write_number(out, field->number, 4);
			break;
		case WIRE_LSN:
		case WIRE_TIMESTAMP:
		case WIRE_ABORT_LSN:
		case WIRE_ABORT_TIMESTAMP:
			write_number(out, field->number, 8);
			break;
		case WIRE_STRING:
			write_bytes(out, field->data, field->length);
			write_number(out, 0, 1);
			break;
		case WIRE_BYTES:
			write_number(out, field->length, 4);
			write_bytes(out, field->data, field->length);
			break;
		case WIRE_COLUMNS:
			write_columns(out, field);
			break;
		case WIRE_RELATIONS:
			cursor = wire_first(field);
			for (uint64_t i = 0; i < field->number; i++)
				write_number(out, wire_next_oid(&cursor), 4);
			break;
		case WIRE_NEW_TUPLE:
		case WIRE_OLD_TUPLE:
		case WIRE_OPTIONAL_OLD_TUPLE:
			write_tuple(out, field);
			break;
	}
}

size_t
wire_write(const WireMessage *message, unsigned char *out, size_t size)
{
	Output		output = {out, size, 0};

	write_bytes(&output, &message->spec->type, 1);
	for (int i = 0; i < message->nfields; i++)
		write_field(&output, &message->fields[i]);
	return output.length;
}
