/*-------------------------------------------------------------------------
 *
 * json_build.c
 *	  Builds jsonb objects out of parts of messages.
 *
 * Called by message_json.c and decode.c.  Everything is allocated in
 * CurrentMemoryContext, which the caller resets after each message, and
 * strings point into the message.
 *
 * The values are put together as trees of JsonbValue and not pushed one by one:
 * the order of a relation's column names is then sorted once, not per row.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "mb/pg_wchar.h"
#include "utils/builtins.h"
#include "utils/numeric.h"

#include "reader/json_build.h"
#include "reader/json_text.h"

/* jsonb cannot hold a longer string */
#define MAX_STRING_LENGTH ((Size) JENTRY_OFFLENMASK)

JsonbValue
jv_null(void)
{
	JsonbValue	value;

	memset(&value, 0, sizeof(value));
	value.type = jbvNull;
	return value;
}

JsonbValue
jv_bool(bool boolean)
{
	JsonbValue	value = jv_null();

	value.type = jbvBool;
	value.val.boolean = boolean;
	return value;
}

JsonbValue
jv_integer(int64 integer)
{
	JsonbValue	value = jv_null();

	value.type = jbvNumeric;
	value.val.numeric = int64_to_numeric(integer);
	return value;
}

JsonbValue
jv_string(const char *bytes, Size length)
{
	JsonbValue	value = jv_null();

	value.type = jbvString;
	value.val.string.val = unconstify(char *, bytes);
	value.val.string.len = (int) length;
	return value;
}

JsonbValue
jv_cstring(const char *string)
{
	return jv_string(string, strlen(string));
}

static void
check_length(Size length)
{
	if (length > MAX_STRING_LENGTH)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("value of %zu bytes is too long for jsonb", length),
				 errhint("Read the slot with pg_logical_slot_get_binary_changes instead.")));
}

JsonbValue
jv_text(const void *bytes, Size length)
{
	check_length(length);
	(void) pg_verify_mbstr(GetDatabaseEncoding(), bytes, (int) length, false);
	return jv_string(bytes, length);
}

bool
jv_text_is_valid(const void *bytes, Size length)
{
	return length <= MAX_STRING_LENGTH &&
		pg_verify_mbstr(GetDatabaseEncoding(), bytes, (int) length, true);
}

JsonbValue
jv_hex(const void *bytes, Size length)
{
	Size		size = 2 + 2 * length;
	char	   *digits;

	check_length(size);
	digits = palloc(size);
	digits[0] = '\\';
	digits[1] = 'x';
	(void) hex_encode(bytes, length, digits + 2);
	return jv_string(digits, size);
}

/* An integer's text form, as all but the longest are; false for others. */
static bool
short_integer(const char *text, Size length, int64 *integer)
{
	bool		negative = length > 0 && text[0] == '-';
	int64		number = 0;
	Size		i = negative ? 1 : 0;

	if (length == i || length > 18 || (negative && text[1] == '0'))
		return false;
	for (; i < length; i++)
	{
		if (text[i] < '0' || text[i] > '9')
			return false;
		number = number * 10 + (text[i] - '0');
	}
	*integer = negative ? -number : number;
	return true;
}

JsonbValue
jv_typed(JsonKind kind, const void *bytes, Size length)
{
	const char *text = bytes;
	int64		integer;
	JsonbValue	value;

	switch (kind)
	{
		case JSON_KIND_TEXT:
			break;
		case JSON_KIND_INTEGER:
		case JSON_KIND_NUMBER:
			if (kind == JSON_KIND_INTEGER &&
				short_integer(text, length, &integer))
				return jv_integer(integer);
			if (!json_is_number(text, length))
				break;
			value = jv_null();
			value.type = jbvNumeric;
			value.val.numeric =
				DatumGetNumeric(DirectFunctionCall3(numeric_in,
													CStringGetDatum(pnstrdup(text, length)),
													ObjectIdGetDatum(InvalidOid),
													Int32GetDatum(-1)));
			return value;
		case JSON_KIND_BOOL:
			if (length == 1 && (text[0] == 't' || text[0] == 'f'))
				return jv_bool(text[0] == 't');
			break;
		case JSON_KIND_JSONB:
			if (jv_document(text, length, &value))
				return value;
			break;
	}
	return jv_text(bytes, length);
}

/*
 * Rebuilds as a tree what the iterator walks.  Recurses as deep as the
 * document is nested, which json_is_document() bounds.
 */
static JsonbValue
tree_of(JsonbIterator **iterator)
{
	JsonbValue	item;
	JsonbValue	tree;
	JsonbIteratorToken token = JsonbIteratorNext(iterator, &item, false);

	if (token == WJB_BEGIN_ARRAY)
	{
		int			nelements = item.val.array.nElems;

		tree = jv_array(palloc(sizeof(JsonbValue) * nelements), nelements);
		for (int i = 0; i < nelements; i++)
			tree.val.array.elems[i] = tree_of(iterator);
		(void) JsonbIteratorNext(iterator, &item, false);
		return tree;
	}
	if (token == WJB_BEGIN_OBJECT)
	{
		int			npairs = item.val.object.nPairs;

		tree = jv_null();
		tree.type = jbvObject;
		tree.val.object.nPairs = npairs;
		tree.val.object.pairs = palloc0(sizeof(JsonbPair) * npairs);
		for (int i = 0; i < npairs; i++)
		{
			(void) JsonbIteratorNext(iterator, &tree.val.object.pairs[i].key,
									 false);
			tree.val.object.pairs[i].value = tree_of(iterator);
		}
		(void) JsonbIteratorNext(iterator, &item, false);
		return tree;
	}
	return item;
}

bool
jv_document(const void *bytes, Size length, JsonbValue *value)
{
	Jsonb	   *document;
	JsonbIterator *iterator;

	if (!json_is_document(bytes, length) || !jv_text_is_valid(bytes, length))
		return false;

	document = DatumGetJsonbP(DirectFunctionCall1(jsonb_in,
												  CStringGetDatum(pnstrdup(bytes, length))));
	iterator = JsonbIteratorInit(&document->root);
	*value = tree_of(&iterator);
	return true;
}

/* Adds a member; the key must be none that the object has, and not be freed. */
void
jv_add(JsonObject *object, const char *key, JsonbValue value)
{
	JsonbPair  *pair;

	if (object->npairs == object->room)
	{
		object->room = object->room == 0 ? 8 : object->room * 2;
		if (object->pairs == NULL)
			object->pairs = palloc(sizeof(JsonbPair) * object->room);
		else
			object->pairs = repalloc(object->pairs,
									 sizeof(JsonbPair) * object->room);
	}
	pair = &object->pairs[object->npairs++];
	pair->key = jv_cstring(key);
	pair->value = value;
	pair->order = 0;
}

int
jv_compare_keys(const JsonbValue *a, const JsonbValue *b)
{
	if (a->val.string.len != b->val.string.len)
		return a->val.string.len > b->val.string.len ? 1 : -1;
	return memcmp(a->val.string.val, b->val.string.val, a->val.string.len);
}

static int
compare_pairs(const void *a, const void *b)
{
	return jv_compare_keys(&((const JsonbPair *) a)->key,
						   &((const JsonbPair *) b)->key);
}

/* The object as a value, with its keys in the order that jsonb wants. */
JsonbValue
jv_object(JsonObject *object)
{
	JsonbValue	value = jv_null();

	if (object->npairs > 1)
		qsort(object->pairs, object->npairs, sizeof(JsonbPair), compare_pairs);
	value.type = jbvObject;
	value.val.object.nPairs = object->npairs;
	value.val.object.pairs = object->pairs;
	return value;
}

JsonbValue
jv_array(JsonbValue *elements, int nelements)
{
	JsonbValue	value = jv_null();

	value.type = jbvArray;
	value.val.array.nElems = nelements;
	value.val.array.elems = elements;
	value.val.array.rawScalar = false;
	return value;
}
