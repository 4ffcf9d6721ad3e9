/*-------------------------------------------------------------------------
 *
 * parser_fuzz.c
 *	  Fuzzer of the message parser, outside the server.
 *
 * Built by scripts/fuzz with libFuzzer from the sources that the server runs.
 * The first byte of the input says whether the message stands in a stream; the
 * rest is the message.
 *
 *-------------------------------------------------------------------------
 */
#include <stdlib.h>
#include <string.h>

#include "parser_write.h"
#include "reader/json_text.h"
#include "reader/parser.h"

extern int	LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Stops the fuzzer, which then keeps the input. */
static void
must(bool condition)
{
	if (!condition)
		abort();
}

/* A refused message: the error must say where, what was expected and found. */
static void
check_error(const WireError *error, size_t size)
{
	must(error->offset <= size);
	must(error->expected != NULL);
	must(error->found[0] != '\0');
	must(memchr(error->found, 0, sizeof(error->found)) != NULL);
	must(error->field == NULL || error->message != NULL);
}

static void
check_text(const unsigned char *data, size_t length)
{
	(void) json_is_number((const char *) data, length);
	(void) json_is_document((const char *) data, length);
}

/* Reads every byte of every item; the cursor must end where the field does. */
static void
check_items(const WireField *field)
{
	WireCursor	cursor = wire_first(field);

	for (uint64_t i = 0; i < field->number; i++)
	{
		WireValue	value;
		WireColumn	column;

		switch (field->spec->kind)
		{
			case WIRE_COLUMNS:
				column = wire_next_column(&cursor);
				must(strlen(column.name) == column.name_length);
				break;
			case WIRE_RELATIONS:
				(void) wire_next_oid(&cursor);
				break;
			default:
				value = wire_next_value(&cursor);
				must(strchr("nutb", value.kind) != NULL);
				if (value.data != NULL)
					check_text(value.data, value.length);
				break;
		}
	}
	must(cursor.at == field->data + field->length);
}

static void
check_fields(const WireMessage *message)
{
	for (int i = 0; i < message->nfields; i++)
	{
		const WireField *field = &message->fields[i];

		switch (field->spec->kind)
		{
			case WIRE_STRING:
				must(strlen((const char *) field->data) == field->length);
				check_text(field->data, field->length);
				break;
			case WIRE_BYTES:
				check_text(field->data, field->length);
				break;
			case WIRE_COLUMNS:
			case WIRE_RELATIONS:
			case WIRE_NEW_TUPLE:
			case WIRE_OLD_TUPLE:
			case WIRE_OPTIONAL_OLD_TUPLE:
				check_items(field);
				break;
			default:
				must(field->data == NULL);
				break;
		}
	}
}

/*
 * No message is the beginning of another, but for a Stream Abort, which may
 * end before its optional fields.
 */
static void
check_prefix(const uint8_t *data, size_t size, bool in_stream)
{
	size_t		shorter = size > 64 ? size - 64 : 0;
	WireMessage message;
	WireError	error;

	for (; shorter < size; shorter++)
	{
		if (wire_parse(data, shorter, in_stream, &message, &error))
			must(data[0] == 'A' && shorter == 9 && size == 25);
		else
			check_error(&error, shorter);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	bool		in_stream;
	WireMessage message;
	WireError	error;
	unsigned char *again;

	if (size == 0)
		return 0;
	in_stream = (*data++ & 1) != 0;
	size--;
	check_text(data, size);

	if (!wire_parse(data, size, in_stream, &message, &error))
	{
		check_error(&error, size);
		return 0;
	}
	check_fields(&message);
	check_prefix(data, size, in_stream);

	again = malloc(size);
	must(wire_write(&message, again, size) == size);
	must(memcmp(again, data, size) == 0);
	free(again);
	return 0;
}
