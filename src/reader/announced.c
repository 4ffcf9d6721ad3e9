/*-------------------------------------------------------------------------
 *
 * announced.c
 *	  What a stream has said so far about relations and types.
 *
 * Called by reader.c for each message, in whatever context; all that must stay
 * is kept in the state's own context, a child of the calling query's, and goes
 * with it.
 *
 * A streamed transaction announces its relations for itself alone: other
 * transactions are told again, until it commits.  So what a stream announces is
 * kept under its xid, and moves to xid 0, which stands for everyone, when the
 * transaction is committed or prepared.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "catalog/pg_type.h"
#include "mb/pg_wchar.h"
#include "utils/builtins.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"

#include "reader/announced.h"

typedef struct RelationKey
{
	TransactionId xid;			/* 0: for every transaction */
	Oid			oid;
} RelationKey;

typedef struct RelationEntry
{
	RelationKey key;			/* hash key */
	AnnouncedRelation *relation;
	struct RelationEntry *next; /* of the streamed transaction, if in one */
} RelationEntry;

typedef struct TransactionEntry
{
	TransactionId xid;			/* hash key */
	RelationEntry *relations;	/* those announced in it */
} TransactionEntry;

static HTAB *
create_table(StreamState *state, const char *name, Size keysize,
			 Size entrysize)
{
	HASHCTL		control = {0};

	control.keysize = keysize;
	control.entrysize = entrysize;
	control.hcxt = state->context;
	return hash_create(name, 64, &control,
					   HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
}

StreamState *
stream_state_create(bool in_stream)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "pgoutput_ext reader",
												  ALLOCSET_DEFAULT_SIZES);
	StreamState *state = MemoryContextAllocZero(context, sizeof(StreamState));

	state->context = context;
	state->in_stream = in_stream;
	state->types = create_table(state, "announced types", sizeof(Oid),
								sizeof(AnnouncedType));
	state->relations = create_table(state, "announced relations",
									sizeof(RelationKey),
									sizeof(RelationEntry));
	state->transactions = create_table(state, "streamed transactions",
									   sizeof(TransactionId),
									   sizeof(TransactionEntry));
	return state;
}

/* The JSON form of a built-in type's values. */
static JsonKind
kind_of_type(Oid type)
{
	switch (type)
	{
		case INT2OID:
		case INT4OID:
		case INT8OID:
		case OIDOID:
			return JSON_KIND_INTEGER;
		case FLOAT4OID:
		case FLOAT8OID:
		case NUMERICOID:
			return JSON_KIND_NUMBER;
		case BOOLOID:
			return JSON_KIND_BOOL;
		case JSONBOID:
			return JSON_KIND_JSONB;
		default:
			return JSON_KIND_TEXT;
	}
}

/*
 * The JSON form of an announced type's values.  A domain is announced under
 * its own OID with the name of its base type.
 */
static JsonKind
kind_of_name(const char *namespace, const char *name)
{
	static const struct
	{
		const char *name;
		Oid			type;
	}			types[] = {
		{"int2", INT2OID}, {"int4", INT4OID}, {"int8", INT8OID},
		{"oid", OIDOID}, {"float4", FLOAT4OID}, {"float8", FLOAT8OID},
		{"numeric", NUMERICOID}, {"bool", BOOLOID}, {"jsonb", JSONBOID}
	};

	if (namespace[0] == '\0')
	{
		for (int i = 0; i < lengthof(types); i++)
			if (strcmp(types[i].name, name) == 0)
				return kind_of_type(types[i].type);
	}
	return JSON_KIND_TEXT;
}

/* The names in a Relation or Type, which follow each other. */
static const char *
checked_name(const WireField *field)
{
	(void) pg_verify_mbstr(GetDatabaseEncoding(), (const char *) field->data,
						   (int) field->length, false);
	return (const char *) field->data;
}

static void
note_type(StreamState *state, const WireMessage *message)
{
	const WireField *field = wire_field(message, WIRE_OID);
	Oid			oid = (Oid) field->number;
	const char *namespace = checked_name(field + 1);
	const char *name = checked_name(field + 2);
	MemoryContext old = MemoryContextSwitchTo(state->context);
	bool		found;
	AnnouncedType *type = hash_search(state->types, &oid, HASH_ENTER, &found);

	if (found && type->name != NULL)
		pfree(type->name);
	type->name = NULL;
	type->kind = kind_of_name(namespace, name);
	type->name = namespace[0] == '\0' ? pstrdup(quote_identifier(name))
		: quote_qualified_identifier(namespace, name);
	MemoryContextSwitchTo(old);
}

static int
compare_columns(const void *a, const void *b, void *columns)
{
	const AnnouncedColumn *all = columns;

	return jv_compare_keys(&all[*(const int *) a].name,
						   &all[*(const int *) b].name);
}

/* Sorts the columns as jsonb sorts keys; two of one name are an error. */
static void
sort_columns(AnnouncedRelation *relation)
{
	relation->order = palloc(sizeof(int) * relation->ncolumns);
	for (int i = 0; i < relation->ncolumns; i++)
		relation->order[i] = i;
	if (relation->ncolumns > 1)
		qsort_arg(relation->order, relation->ncolumns, sizeof(int),
				  compare_columns, relation->columns);
	for (int i = 1; i < relation->ncolumns; i++)
	{
		if (compare_columns(&relation->order[i - 1], &relation->order[i],
							relation->columns) == 0)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
					 errmsg("relation %s is announced with two columns of one name",
							relation->name)));
	}
}

/* Builds what stays of a Relation, in a context of its own. */
static AnnouncedRelation *
build_relation(StreamState *state, const WireMessage *message)
{
	MemoryContext context = AllocSetContextCreate(state->context,
												  "announced relation",
												  ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	AnnouncedRelation *relation = palloc0(sizeof(AnnouncedRelation));
	const WireField *oid = wire_field(message, WIRE_OID);
	const WireField *columns = wire_field(message, WIRE_COLUMNS);
	const char *namespace = checked_name(oid + 1);
	WireCursor	cursor = wire_first(columns);

	relation->context = context;
	relation->name = quote_qualified_identifier(namespace[0] == '\0' ?
												"pg_catalog" : namespace,
												checked_name(oid + 2));
	relation->ncolumns = (int) columns->number;
	relation->columns = palloc0(sizeof(AnnouncedColumn) * relation->ncolumns);
	for (int i = 0; i < relation->ncolumns; i++)
	{
		AnnouncedColumn *column = &relation->columns[i];
		WireColumn	wire = wire_next_column(&cursor);
		AnnouncedType *type = announced_type(state, wire.type);

		column->name = jv_text(wire.name, wire.name_length);
		column->name.val.string.val = pnstrdup(wire.name, wire.name_length);
		column->is_key = wire.flags != 0;
		column->kind = type != NULL ? type->kind : kind_of_type(wire.type);
	}
	sort_columns(relation);
	MemoryContextSwitchTo(old);
	return relation;
}

/*
 * Puts a relation in place of what was known under its key.  *is_new says if
 * there was nothing.
 */
static RelationEntry *
put_relation(StreamState *state, TransactionId xid, Oid oid,
			 AnnouncedRelation *relation, bool *is_new)
{
	RelationKey key = {xid, oid};
	bool		found;
	RelationEntry *entry = hash_search(state->relations, &key, HASH_ENTER,
									   &found);

	if (found)
		MemoryContextDelete(entry->relation->context);
	else
		entry->next = NULL;
	entry->relation = relation;
	*is_new = !found;
	return entry;
}

static void
note_relation(StreamState *state, const WireMessage *message)
{
	Oid			oid = (Oid) wire_field(message, WIRE_OID)->number;
	TransactionId xid = state->in_stream ? state->xid : InvalidTransactionId;
	AnnouncedRelation *relation = build_relation(state, message);
	bool		is_new;
	RelationEntry *entry = put_relation(state, xid, oid, relation, &is_new);

	if (TransactionIdIsValid(xid) && is_new)
	{
		bool		found;
		TransactionEntry *transaction = hash_search(state->transactions, &xid,
													HASH_ENTER, &found);

		entry->next = found ? transaction->relations : NULL;
		transaction->relations = entry;
	}
}

/* What a streamed transaction announced is now for all, or for nobody. */
static void
end_streamed(StreamState *state, TransactionId xid, bool keep)
{
	TransactionEntry *transaction = hash_search(state->transactions, &xid,
												HASH_FIND, NULL);
	RelationEntry *entry;

	if (transaction == NULL)
		return;
	entry = transaction->relations;
	while (entry != NULL)
	{
		RelationKey key = entry->key;
		AnnouncedRelation *relation = entry->relation;
		RelationEntry *next = entry->next;
		bool		is_new;

		(void) hash_search(state->relations, &key, HASH_REMOVE, NULL);
		if (keep)
			(void) put_relation(state, InvalidTransactionId, key.oid, relation,
								&is_new);
		else
			MemoryContextDelete(relation->context);
		entry = next;
	}
	(void) hash_search(state->transactions, &xid, HASH_REMOVE, NULL);
}

void
stream_state_note(StreamState *state, const WireMessage *message)
{
	const WireField *xid = wire_field(message, WIRE_XID);

	switch (message->spec->type)
	{
		case 'S':
		case 'E':
			if (state->in_stream == (message->spec->type == 'S'))
				ereport(ERROR,
						(errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
						 errmsg("unexpected %s message", message->spec->name),
						 errdetail(state->in_stream ?
								   "A stream is open already." :
								   "No stream is open.")));
			state->in_stream = message->spec->type == 'S';
			state->xid = xid != NULL ? (TransactionId) xid->number
				: InvalidTransactionId;
			break;
		case 'c':
		case 'p':
			end_streamed(state, (TransactionId) xid->number, true);
			break;
		case 'A':
			/* the first xid is the transaction's, the second what is aborted */
			if (xid[0].number == xid[1].number)
				end_streamed(state, (TransactionId) xid->number, false);
			break;
		case 'R':
			note_relation(state, message);
			break;
		case 'Y':
			note_type(state, message);
			break;
		default:
			break;
	}
}

AnnouncedType *
announced_type(StreamState *state, Oid oid)
{
	return hash_search(state->types, &oid, HASH_FIND, NULL);
}

AnnouncedRelation *
announced_relation(StreamState *state, Oid oid)
{
	RelationKey key = {state->in_stream ? state->xid : InvalidTransactionId, oid};
	RelationEntry *entry = hash_search(state->relations, &key, HASH_FIND, NULL);

	if (entry == NULL && TransactionIdIsValid(key.xid))
	{
		key.xid = InvalidTransactionId;
		entry = hash_search(state->relations, &key, HASH_FIND, NULL);
	}
	if (entry == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
				 errmsg("relation with OID %u has not been announced", oid),
				 errhint("Start with the messages that hold its Relation, or decode this message alone with pgoutput_ext_decode.")));
	return entry->relation;
}
