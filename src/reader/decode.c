/*-------------------------------------------------------------------------
 *
 * decode.c
 *	  pgoutput_ext_decode: one message alone, field by field.
 *
 * The function knows nothing but the bytes it is given, so that it is
 * immutable and safe for anyone to call.  Everything is allocated in the
 * calling expression's context.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"

#include "compat.h"
#include "reader/message_json.h"

COMPAT_FUNCTION_INFO_V1(pgoutput_ext_decode);

/* TupleData: an array with the kind and, where there is one, the value. */
static JsonbValue
tuple_array(const WireField *field)
{
	WireCursor	cursor = wire_first(field);
	JsonbValue *elements = palloc(sizeof(JsonbValue) * field->number);

	for (uint64 i = 0; i < field->number; i++)
	{
		WireValue	value = wire_next_value(&cursor);
		JsonObject	object = {0};

		jv_add(&object, "kind", jv_cstring(psprintf("%c", value.kind)));
		if (value.kind == 't')
			jv_add(&object, "value", jv_text(value.data, value.length));
		else if (value.kind == 'b')
			jv_add(&object, "value", jv_hex(value.data, value.length));
		elements[i] = jv_object(&object);
	}
	return jv_array(elements, (int) field->number);
}

static JsonbValue
column_array(const WireField *field)
{
	WireCursor	cursor = wire_first(field);
	JsonbValue *elements = palloc(sizeof(JsonbValue) * field->number);

	for (uint64 i = 0; i < field->number; i++)
	{
		WireColumn	column = wire_next_column(&cursor);
		JsonObject	object = {0};

		jv_add(&object, "flags", jv_integer(column.flags));
		jv_add(&object, "name", jv_text(column.name, column.name_length));
		jv_add(&object, "type_oid", jv_integer(column.type));
		jv_add(&object, "type_modifier", jv_integer(column.typmod));
		elements[i] = jv_object(&object);
	}
	return jv_array(elements, (int) field->number);
}

static JsonbValue
oid_array(const WireField *field)
{
	WireCursor	cursor = wire_first(field);
	JsonbValue *elements = palloc(sizeof(JsonbValue) * field->number);

	for (uint64 i = 0; i < field->number; i++)
		elements[i] = jv_integer(wire_next_oid(&cursor));
	return jv_array(elements, (int) field->number);
}

static void
add_field(JsonObject *object, const WireField *field)
{
	switch (field->spec->kind)
	{
		case WIRE_COLUMNS:
			jv_add(object, field->spec->name, column_array(field));
			break;
		case WIRE_RELATIONS:
			jv_add(object, field->spec->name, oid_array(field));
			break;
		case WIRE_NEW_TUPLE:
		case WIRE_OLD_TUPLE:
		case WIRE_OPTIONAL_OLD_TUPLE:
			jv_add(object, field->marker == 'K' ? "key" : field->spec->name,
				   tuple_array(field));
			break;
		default:
			if (!add_scalar_field(object, field))
				elog(ERROR, "field \"%s\" cannot be shown", field->spec->name);
			break;
	}
}

/*
 * pgoutput_ext_decode(message bytea, streaming boolean) returns jsonb
 *
 * The message's fields under the documentation's names.  ERROR 22P03 if it is
 * not exactly one documented message, 22021 if text in it is invalid in the
 * database's encoding.
 */
Datum
pgoutput_ext_decode(PG_FUNCTION_ARGS)
{
	bytea	   *bytes = PG_GETARG_BYTEA_PP(0);
	WireMessage message;
	JsonObject	object = {0};
	JsonbValue	value;

	parse_message(VARDATA_ANY(bytes), VARSIZE_ANY_EXHDR(bytes),
				  PG_GETARG_BOOL(1), &message);
	jv_add(&object, "message", jv_cstring(message.spec->name));
	for (int i = 0; i < message.nfields; i++)
		add_field(&object, &message.fields[i]);
	value = jv_object(&object);
	PG_RETURN_JSONB_P(JsonbValueToJsonb(&value));
}
