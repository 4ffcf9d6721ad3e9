/*-------------------------------------------------------------------------
 *
 * message_json.c
 *	  Shows a parsed message as a row with the names of its columns.
 *
 * Called by reader.c for each message, in a context that is reset after it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/datetime.h"
#include "utils/json.h"
#include "utils/pg_lsn.h"
#include "utils/timestamp.h"

#include "reader/message_json.h"

/* ERROR 22P03 that says what is wrong with a message. */
static void
report_malformed(const WireError *error)
{
	if (error->message == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
				 errmsg("malformed logical replication message at byte %zu",
						error->offset),
				 errdetail("Expected %s, found %s.", error->expected,
						   error->found)));
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
			 errmsg("malformed %s message at byte %zu", error->message,
					error->offset),
			 error->field != NULL
			 ? errdetail("Expected %s in \"%s\", found %s.", error->expected,
						 error->field, error->found)
			 : errdetail("Expected %s, found %s.", error->expected,
						 error->found)));
}

void
parse_message(const char *data, Size length, bool in_stream,
			  WireMessage *message)
{
	WireError	error;

	if (!wire_parse((const unsigned char *) data, length, in_stream, message,
					&error))
		report_malformed(&error);
}

void
parse_message_head(const char *data, Size length, bool in_stream,
				   WireMessage *message)
{
	WireError	error;

	if (!wire_parse_head((const unsigned char *) data, length, in_stream,
						 message, &error))
		report_malformed(&error);
}

/* A timestamp in UTC whatever the session says; a number if it is none. */
static JsonbValue
timestamp_value(int64 timestamp)
{
	char	   *text;
	int			utc = 0;

	if (TIMESTAMP_NOT_FINITE(timestamp) || !IS_VALID_TIMESTAMP(timestamp))
		return jv_integer(timestamp);
	text = palloc(MAXDATELEN + 1);
	return jv_cstring(JsonEncodeDateTime(text, TimestampTzGetDatum(timestamp),
										 TIMESTAMPTZOID, &utc));
}

/*
 * Adds the content of a Message: itself if it is one of the JSON documents
 * that pgoutput_ext sends, text where it is valid text, else bytes.
 */
static void
add_content(JsonObject *object, const WireField *prefix,
			const WireField *content)
{
	JsonbValue	document;

	if (strncmp((const char *) prefix->data, "pgoutput_ext.", 13) == 0 &&
		jv_document(content->data, content->length, &document))
		jv_add(object, content->spec->name, document);
	else if (jv_text_is_valid(content->data, content->length))
		jv_add(object, content->spec->name,
			   jv_string((const char *) content->data, content->length));
	else
		jv_add(object, "content_bytes",
			   jv_hex(content->data, content->length));
}

bool
add_scalar_field(JsonObject *object, const WireField *field)
{
	JsonbValue	value;

	switch (field->spec->kind)
	{
		case WIRE_UNUSED:
		case WIRE_FLAG:
		case WIRE_TRUNCATE_OPTIONS:
		case WIRE_XID:
		case WIRE_STREAM_XID:
		case WIRE_OID:
		case WIRE_COUNT:
			value = jv_integer((int64) field->number);
			break;
		case WIRE_IDENTITY:
			value = jv_cstring(psprintf("%c", (char) field->number));
			break;
		case WIRE_LSN:
		case WIRE_ABORT_LSN:
			value = jv_cstring(DatumGetCString(DirectFunctionCall1(pg_lsn_out,
																   LSNGetDatum(field->number))));
			break;
		case WIRE_TIMESTAMP:
		case WIRE_ABORT_TIMESTAMP:
			value = timestamp_value((int64) field->number);
			break;
		case WIRE_STRING:
			value = jv_text(field->data, field->length);
			break;
		case WIRE_BYTES:
			add_content(object, field - 1, field);
			return true;
		default:
			return false;
	}
	jv_add(object, field->spec->name, value);
	return true;
}

static JsonbValue
column_value(AnnouncedColumn *column, const WireValue *value)
{
	if (value->kind == 't')
		return jv_typed(column->kind, value->data, value->length);
	if (value->kind == 'b')
		return jv_hex(value->data, value->length);
	return jv_null();
}

/*
 * A tuple as an object with the relation's column names.  Unchanged values are
 * left out, and listed in "detail" under the key "unchanged".  Of a key, the
 * columns that are not part of it are left out: they are sent as null,
 * whatever their value.
 */
static Jsonb *
tuple_object(AnnouncedRelation *relation, const WireField *field,
			 JsonObject *detail, const char *unchanged)
{
	WireCursor	cursor = wire_first(field);
	int			ncolumns = relation->ncolumns;
	WireValue  *values;
	JsonbValue *missing;
	int			nmissing = 0;
	JsonObject	object = {0};
	JsonbValue	result;

	if (field->number != (uint64) ncolumns)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
				 errmsg("tuple of relation %s has %d columns, but %d were announced",
						relation->name, (int) field->number, ncolumns)));

	values = palloc(sizeof(WireValue) * ncolumns);
	missing = palloc(sizeof(JsonbValue) * ncolumns);
	object.pairs = palloc0(sizeof(JsonbPair) * ncolumns);
	for (int i = 0; i < ncolumns; i++)
	{
		values[i] = wire_next_value(&cursor);
		if (values[i].kind == 'u')
			missing[nmissing++] = relation->columns[i].name;
	}
	for (int i = 0; i < ncolumns; i++)
	{
		int			at = relation->order[i];
		AnnouncedColumn *column = &relation->columns[at];
		JsonbPair  *pair = &object.pairs[object.npairs];

		if (values[at].kind == 'u' ||
			(field->marker == 'K' && values[at].kind == 'n' && !column->is_key))
			continue;
		pair->key = column->name;
		pair->value = column_value(column, &values[at]);
		object.npairs++;
	}
	if (nmissing > 0)
		jv_add(detail, unchanged, jv_array(missing, nmissing));

	/* the pairs are in order already */
	result = jv_null();
	result.type = jbvObject;
	result.val.object.nPairs = object.npairs;
	result.val.object.pairs = object.pairs;
	return JsonbValueToJsonb(&result);
}

/* Name of a column's type, with the modifier where the catalog can show it. */
static void
add_type(JsonObject *object, StreamState *state, const WireColumn *column)
{
	AnnouncedType *type = announced_type(state, column->type);
	bool		builtin = type == NULL && column->type < FirstGenbkiObjectId;

	/* interval's modifier raises an error when it is odd */
	bool		with_typmod = builtin && column->type != INTERVALOID;
	uint16		flags = FORMAT_TYPE_ALLOW_INVALID;

	if (with_typmod)
		flags |= FORMAT_TYPE_TYPEMOD_GIVEN;
	if (type != NULL)
		jv_add(object, "type", jv_cstring(type->name));
	else if (builtin)
		jv_add(object, "type",
			   jv_cstring(format_type_extended(column->type,
											   column->typmod, flags)));
	else
		jv_add(object, "type_oid", jv_integer(column->type));
	if (!with_typmod && column->typmod >= 0)
		jv_add(object, "type_modifier", jv_integer(column->typmod));
}

static JsonbValue
columns_value(StreamState *state, const WireField *field)
{
	WireCursor	cursor = wire_first(field);
	JsonbValue *elements = palloc(sizeof(JsonbValue) * field->number);

	for (uint64 i = 0; i < field->number; i++)
	{
		WireColumn	column = wire_next_column(&cursor);
		JsonObject	object = {0};

		jv_add(&object, "name", jv_text(column.name, column.name_length));
		add_type(&object, state, &column);
		jv_add(&object, "key", jv_bool(column.flags != 0));
		elements[i] = jv_object(&object);
	}
	return jv_array(elements, (int) field->number);
}

/* The relations of a Truncate, as text. */
static const char *
relation_list(StreamState *state, const WireField *field)
{
	WireCursor	cursor = wire_first(field);
	StringInfoData list;

	initStringInfo(&list);
	for (uint64 i = 0; i < field->number; i++)
	{
		AnnouncedRelation *relation;

		relation = announced_relation(state, wire_next_oid(&cursor));
		appendStringInfo(&list, "%s%s", i == 0 ? "" : ", ", relation->name);
	}
	return list.data;
}

/*
 * Adds a field to the row: to "detail", or to the column that shows it.
 * "relation" is the one that the message is about, or NULL.
 */
static void
describe_field(StreamState *state, const WireField *field, MessageRow *row,
			   AnnouncedRelation *relation, JsonObject *detail)
{
	switch (field->spec->kind)
	{
		case WIRE_UNUSED:
		case WIRE_OID:
		case WIRE_COUNT:
			break;
		case WIRE_STRING:
			/* a Relation's are in the row's relation */
			if (relation == NULL)
				(void) add_scalar_field(detail, field);
			break;
		case WIRE_TRUNCATE_OPTIONS:
			jv_add(detail, "cascade", jv_bool((field->number & 1) != 0));
			jv_add(detail, "restart_identity",
				   jv_bool((field->number & 2) != 0));
			break;
		case WIRE_COLUMNS:
			jv_add(detail, "columns", columns_value(state, field));
			break;
		case WIRE_RELATIONS:
			row->relation = relation_list(state, field);
			break;
		case WIRE_NEW_TUPLE:
			row->new = tuple_object(relation, field, detail, "unchanged_toast");
			break;
		case WIRE_OLD_TUPLE:
		case WIRE_OPTIONAL_OLD_TUPLE:
			row->old = tuple_object(relation, field, detail,
									"unchanged_toast_old");
			jv_add(detail, "old",
				   jv_cstring(field->marker == 'K' ? "key" : "full"));
			break;
		default:
			(void) add_scalar_field(detail, field);
			break;
	}
}

MessageRow
describe_message(StreamState *state, const WireMessage *message)
{
	MessageRow	row = {0};
	JsonObject	detail = {0};
	AnnouncedRelation *relation = NULL;
	const WireField *oid = wire_field(message, WIRE_OID);

	if (oid != NULL && message->spec->type != 'Y')
		relation = announced_relation(state, (Oid) oid->number);

	row.message = message->spec->name;
	if (relation != NULL)
		row.relation = relation->name;
	for (int i = 0; i < message->nfields; i++)
		describe_field(state, &message->fields[i], &row, relation, &detail);
	if (detail.npairs > 0)
	{
		JsonbValue	value = jv_object(&detail);

		row.detail = JsonbValueToJsonb(&value);
	}
	return row;
}
