/*-------------------------------------------------------------------------
 *
 * type.c
 *	  Column encoders, shared by type.
 *
 * plan.c asks for a type's entry when it builds a plan, tuple.c calls the
 * encoder for each value.  Entries live in the session's context and are never
 * removed; what a type's function remembers between calls lives in a context
 * of the entry's own.
 *
 * The invalidation callbacks only mark: resolving reads catalogs.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/transam.h"
#include "catalog/pg_type.h"
#include "mb/pg_wchar.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

#include "type.h"

/* Types whose entries in the server's cache have the same hash value. */
typedef struct TypeHashEntry
{
	uint32		hash;			/* hash key */
	TypeEntry  *first;
} TypeHashEntry;

/*
 * types_init
 *		Prepares a session's types, in its context.
 *
 * Decides once whether text has to be converted: pg_server_to_client() does
 * nothing where the encodings are the same or the client takes anything.
 */
void
types_init(PluginState *state)
{
	HASHCTL		ctl;
	int			client = pg_get_client_encoding();

	state->convert = client != GetDatabaseEncoding() && client != PG_SQL_ASCII;

	ctl.keysize = sizeof(Oid);
	ctl.entrysize = sizeof(TypeEntry);
	ctl.hcxt = state->context;
	state->types = hash_create("pgoutput_ext types", 64, &ctl,
							   HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);

	ctl.keysize = sizeof(uint32);
	ctl.entrysize = sizeof(TypeHashEntry);
	state->types_by_hash = hash_create("pgoutput_ext types by hash", 64, &ctl,
									   HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
}

static void encode_unresolved(StringInfo out, Datum value,
							  TypeEncoder *encoder);

/* Makes an entry known to the invalidation callback. */
static void
link_by_hash(PluginState *state, TypeEntry *entry)
{
	uint32		hash = GetSysCacheHashValue1(TYPEOID,
											 ObjectIdGetDatum(entry->encoder.type_id));
	bool		found;
	TypeHashEntry *head = hash_search(state->types_by_hash, &hash,
									  HASH_ENTER, &found);

	entry->next = found ? head->first : NULL;
	head->first = entry;
}

/*
 * type_entry
 *		The entry of a type, made if there is none; not yet resolved then.
 */
TypeEntry *
type_entry(PluginState *state, Oid type_id)
{
	bool		found;
	TypeEntry  *entry = hash_search(state->types, &type_id, HASH_ENTER, &found);

	if (!found)
	{
		memset((char *) entry + sizeof(Oid), 0, sizeof(TypeEntry) - sizeof(Oid));
		entry->state = state;
		entry->encoder.encode = encode_unresolved;
		link_by_hash(state, entry);
	}
	return entry;
}

/* Does a type's output depend on other types? */
static bool
is_nested(Form_pg_type type)
{
	return OidIsValid(type->typelem) || OidIsValid(type->typbasetype) ||
		type->typtype == TYPTYPE_COMPOSITE ||
		type->typtype == TYPTYPE_RANGE ||
		type->typtype == TYPTYPE_MULTIRANGE;
}

/* Looks up the function that the encoder calls. */
static void
resolve_function(PluginState *state, TypeEntry *entry, Oid function,
				 bool nested)
{
	entry->dependent = nested || function >= FirstGenbkiObjectId;
	if (entry->dependent)
	{
		if (entry->context == NULL)
			entry->context = AllocSetContextCreate(state->context,
												   "pgoutput_ext type",
												   ALLOCSET_SMALL_SIZES);
		else
			MemoryContextReset(entry->context);
	}
	fmgr_info_cxt(function, &entry->encoder.function,
				  entry->dependent ? entry->context : state->context);
}

/* Encodes by a function that may have to be looked up again. */
static void
encode_dependent(StringInfo out, Datum value, TypeEncoder *encoder)
{
	TypeEntry  *entry = (TypeEntry *) encoder;

	if (unlikely(entry->generation != entry->state->type_generation))
		encode_unresolved(out, value, encoder);
	else
		encode_by_function(out, value, encoder);
}

/*
 * Looks up the encoder of a type as the catalogs have it now, and encodes a
 * value.
 *
 * Like pgoutput, sends in binary if asked to and the type has a send
 * function, else as text.  Raises the server's "cache lookup failed" if the
 * type does not exist.
 */
static void
encode_unresolved(StringInfo out, Datum value, TypeEncoder *encoder)
{
	TypeEntry  *entry = (TypeEntry *) encoder;
	PluginState *state = entry->state;
	HeapTuple	tuple;
	Form_pg_type type;
	Oid			function;
	EncodeFunction encode;

	encoder->encode = encode_unresolved;
	entry->valid = true;		/* an invalidation from here on clears it */
	entry->generation = state->type_generation;

	tuple = SearchSysCache1(TYPEOID, ObjectIdGetDatum(encoder->type_id));
	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for type %u", encoder->type_id);
	type = (Form_pg_type) GETSTRUCT(tuple);

	encoder->typlen = type->typlen;
	encoder->typbyval = type->typbyval;
	encoder->convert = state->convert;
	encoder->binary = state->options.binary && OidIsValid(type->typsend);
	if (encoder->binary)
	{
		function = type->typsend;
		encode = direct_binary_encoder(function, type->typlen, type->typbyval,
									   state->convert);
	}
	else
	{
		function = type->typoutput;
		encode = direct_text_encoder(function, type->typlen, type->typbyval,
									 state->convert);
	}
	resolve_function(state, entry, function,
					 encode == NULL && is_nested(type));
	ReleaseSysCache(tuple);

	if (encode == NULL)
		encode = entry->dependent ? encode_dependent : encode_by_function;
	if (entry->valid)
		encoder->encode = encode;
	if (encode == encode_dependent)
		encode = encode_by_function;
	encode(out, value, encoder);
}

/* Has an entry's encoder looked up before it is used again. */
static void
invalidate_entry(TypeEntry *entry)
{
	entry->valid = false;
	entry->encoder.encode = encode_unresolved;
}

/*
 * types_invalidate
 *		Marks the types with a hash value, or all if it is 0, as changed.
 */
void
types_invalidate(PluginState *state, uint32 hash)
{
	state->type_generation++;
	if (hash == 0)
	{
		HASH_SEQ_STATUS status;
		TypeEntry  *entry;

		hash_seq_init(&status, state->types);
		while ((entry = hash_seq_search(&status)) != NULL)
			invalidate_entry(entry);
	}
	else
	{
		TypeHashEntry *head = hash_search(state->types_by_hash, &hash,
										  HASH_FIND, NULL);

		for (TypeEntry *entry = head ? head->first : NULL; entry;
			 entry = entry->next)
			invalidate_entry(entry);
	}
}

/* Marks what depends on a function that can be replaced as changed. */
void
types_invalidate_functions(PluginState *state)
{
	state->type_generation++;
}
