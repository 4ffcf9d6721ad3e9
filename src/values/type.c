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

#include "values/encoder.h"
#include "values/encoder_bytes.h"
#include "values/type.h"

/* Types whose entries in the server's cache have the same hash value. */
typedef struct TypeChain
{
	uint32		hash;			/* hash key */
	TypeEntry  *first;
} TypeChain;

static void encode_unresolved(StringInfo out, Datum value,
							  TypeEncoder *encoder);

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

	ctl.keysize = sizeof(uint32);
	ctl.entrysize = sizeof(TypeChain);
	ctl.hcxt = state->context;
	state->types = hash_create("pgoutput_ext types", 64, &ctl,
							   HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
}

/*
 * type_entry
 *		The entry of a type, made if there is none; not yet resolved then.
 *
 * Entries are found by the hash value that an invalidation of the type has.
 */
TypeEntry *
type_entry(PluginState *state, Oid type_id)
{
	uint32		hash = GetSysCacheHashValue1(TYPEOID,
											 ObjectIdGetDatum(type_id));
	bool		found;
	TypeChain  *chain = hash_search(state->types, &hash, HASH_ENTER, &found);
	TypeEntry  *entry;

	if (!found)
		chain->first = NULL;
	for (entry = chain->first; entry; entry = entry->next)
	{
		if (entry->encoder.type_id == type_id)
			return entry;
	}

	entry = MemoryContextAllocZero(state->context, sizeof(TypeEntry));
	entry->encoder.type_id = type_id;
	entry->encoder.encode = encode_unresolved;
	entry->state = state;
	entry->next = chain->first;
	chain->first = entry;
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

/* Has encoders looked up before they are used again. */
static void
invalidate_chain(TypeChain *chain)
{
	for (TypeEntry *entry = chain->first; entry; entry = entry->next)
	{
		entry->valid = false;
		entry->encoder.encode = encode_unresolved;
	}
}

/*
 * types_invalidate
 *		Marks the types with a hash value, or all if it is 0, as changed.
 */
void
types_invalidate(PluginState *state, uint32 hash)
{
	TypeChain  *chain;

	state->type_generation++;
	if (hash == 0)
	{
		HASH_SEQ_STATUS status;

		hash_seq_init(&status, state->types);
		while ((chain = hash_seq_search(&status)) != NULL)
			invalidate_chain(chain);
	}
	else
	{
		chain = hash_search(state->types, &hash, HASH_FIND, NULL);
		if (chain)
			invalidate_chain(chain);
	}
}

/* Marks what depends on a function that can be replaced as changed. */
void
types_invalidate_functions(PluginState *state)
{
	state->type_generation++;
}
