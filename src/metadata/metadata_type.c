/*-------------------------------------------------------------------------
 *
 * metadata_type.c
 *	  The frame pgoutput_ext.type.
 *
 * Called by told.c behind each Type, and by metadata.c before each
 * change of a relation that has been announced.  Content is allocated in the
 * context of metadata frames; what the client was told of a type is two
 * numbers in the session's context.
 *
 * An enum gets a new label, or a composite type a new attribute, without an
 * invalidation of the relations that use it.  So changes of types are counted,
 * and when there are any, the types of the next change's relation are looked
 * at again and told if they are others than those told.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/transam.h"
#include "catalog/indexing.h"
#include "catalog/pg_enum.h"
#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "compat.h"
#include "metadata/json_write.h"
#include "metadata/metadata_frames.h"

static ToldType *
find_told(MetadataTold *told, Oid type_id)
{
	if (told == NULL || told->types == NULL)
		return NULL;
	return hash_search(told->types, &type_id, HASH_FIND, NULL);
}

/* Remembers that the client was told of a type. */
static void
remember_told(MetadataTold *told, Oid type_id, uint64 content, uint64 checked)
{
	ToldType   *entry;

	if (told->types == NULL)
	{
		HASHCTL		ctl;

		ctl.keysize = sizeof(Oid);
		ctl.entrysize = sizeof(ToldType);
		ctl.hcxt = told->state->context;
		told->types = hash_create("pgoutput_ext told types", 16, &ctl,
								  HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	}
	entry = hash_search(told->types, &type_id, HASH_ENTER, NULL);
	entry->content = content;
	entry->checked = checked;
}

/*
 * types_told_in_stream
 *		Takes over what a streamed transaction was told ("merge"), or forgets
 *		all that is known of the types that it was told of.
 */
void
types_told_in_stream(MetadataTold *all, MetadataTold *stream, bool merge)
{
	HASH_SEQ_STATUS status;
	ToldType   *entry;

	if (stream->types == NULL)
		return;
	hash_seq_init(&status, stream->types);
	while ((entry = hash_seq_search(&status)) != NULL)
	{
		if (merge)
			remember_told(all, entry->type_id, entry->content, 0);
		else if (all->types)
			(void) hash_search(all->types, &entry->type_id, HASH_REMOVE, NULL);
	}
	/* relations that were looked at already are looked at again */
	all->state->type_changes++;
}

/*
 * The members that refer to another type, which is added to "types" if it is
 * not built in.
 */
static void
write_reference(StringInfo out, Oid type_id, int32 typmod, List **types)
{
	jw_integer_member(out, "id", type_id);
	jw_string_member(out, "type", format_type_with_typemod(type_id, typmod));
	jw_integer_member(out, "typmod", typmod);
	if (type_id >= FirstGenbkiObjectId)
		*types = list_append_unique_oid(*types, type_id);
}

static void
write_reference_member(StringInfo out, const char *key, Oid type_id,
					   int32 typmod, List **types)
{
	jw_key(out, key);
	jw_open(out, '{');
	write_reference(out, type_id, typmod, types);
	jw_close(out, '}');
}

static int
compare_labels(const ListCell *a, const ListCell *b)
{
	float4		first = ((Form_pg_enum) lfirst(a))->enumsortorder;
	float4		second = ((Form_pg_enum) lfirst(b))->enumsortorder;

	return first < second ? -1 : first > second;
}

/*
 * The labels in their order.  They are sorted here: minor releases of before
 * 2025 refuse an ordered scan while a transaction is streamed.
 */
static void
write_labels(StringInfo out, Oid type_id)
{
	Relation	catalog = table_open(EnumRelationId, AccessShareLock);
	List	   *labels = NIL;
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;
	ListCell   *lc;

	ScanKeyInit(&key, Anum_pg_enum_enumtypid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(type_id));
	scan = systable_beginscan(catalog, EnumTypIdLabelIndexId, true, NULL, 1,
							  &key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
		labels = lappend(labels, GETSTRUCT(heap_copytuple(tuple)));
	systable_endscan(scan);
	table_close(catalog, AccessShareLock);

	list_sort(labels, compare_labels);
	jw_key(out, "labels");
	jw_open(out, '[');
	foreach(lc, labels)
		jw_string(out, NameStr(((Form_pg_enum) lfirst(lc))->enumlabel));
	jw_close(out, ']');
}

/* The relation of a composite type is read from the cache, without a lock. */
static void
write_attributes(StringInfo out, Oid relid, List **types)
{
	Relation	relation = RelationIdGetRelation(relid);
	TupleDesc	desc;

	if (!RelationIsValid(relation))
		elog(ERROR, "could not open relation with OID %u", relid);
	desc = RelationGetDescr(relation);
	jw_key(out, "attributes");
	jw_open(out, '[');
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);

		if (att->attisdropped)
			continue;
		jw_open(out, '{');
		jw_string_member(out, "name", NameStr(att->attname));
		write_reference(out, att->atttypid, att->atttypmod, types);
		jw_close(out, '}');
	}
	jw_close(out, ']');
	RelationClose(relation);
}

static const char *
type_kind(Form_pg_type type)
{
	switch (type->typtype)
	{
		case TYPTYPE_BASE:
			return IsTrueArrayType(type) ? "array" : "base";
		case TYPTYPE_COMPOSITE:
			return "composite";
		case TYPTYPE_DOMAIN:
			return "domain";
		case TYPTYPE_ENUM:
			return "enum";
		case TYPTYPE_PSEUDO:
			return "pseudo";
		case TYPTYPE_RANGE:
			return "range";
		case TYPTYPE_MULTIRANGE:
			return "multirange";
		default:
			elog(ERROR, "unexpected kind of type %u: %c", type->oid,
				 type->typtype);
	}
}

/* What a type is made of, by its kind. */
static void
write_parts(StringInfo out, Form_pg_type type, List **types)
{
	Oid			type_id = type->oid;

	switch (type->typtype)
	{
		case TYPTYPE_COMPOSITE:
			write_attributes(out, type->typrelid, types);
			break;
		case TYPTYPE_DOMAIN:
			write_reference_member(out, "base", type->typbasetype,
								   type->typtypmod, types);
			jw_bool_member(out, "not_null", type->typnotnull);
			break;
		case TYPTYPE_ENUM:
			write_labels(out, type_id);
			break;
		case TYPTYPE_RANGE:
			write_reference_member(out, "subtype", get_range_subtype(type_id),
								   -1, types);
			break;
		case TYPTYPE_MULTIRANGE:
			write_reference_member(out, "range",
								   get_multirange_range(type_id), -1, types);
			break;
		default:
			if (OidIsValid(type->typelem))
				write_reference_member(out, "element", type->typelem, -1,
									   types);
	}
}

/*
 * Writes the content of a type's frame, and adds the types that it refers to
 * to "types".
 */
static void
write_type(StringInfo out, Oid type_id, List **types)
{
	HeapTuple	tuple = SearchSysCache1(TYPEOID, ObjectIdGetDatum(type_id));
	Form_pg_type type;
	char	   *schema;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for type %u", type_id);
	type = (Form_pg_type) GETSTRUCT(tuple);
	schema = get_namespace_name(type->typnamespace);
	if (schema == NULL)
		elog(ERROR, "cache lookup failed for namespace %u",
			 type->typnamespace);

	jw_open(out, '{');
	jw_integer_member(out, "id", type_id);
	jw_string_member(out, "schema", schema);
	jw_string_member(out, "name", NameStr(type->typname));
	jw_string_member(out, "kind", type_kind(type));
	write_parts(out, type, types);
	jw_close(out, '}');
	ReleaseSysCache(tuple);
}

/*
 * Sends a type, if the client does not know it as it is or has just been sent
 * its Type ("always"), and then the types that it is made of which the client
 * does not know.  Each is looked at once, so that a cycle ends.
 */
static void
send_type_and_parts(LogicalDecodingContext *ctx, ReorderBufferTXN *txn,
					Oid type_id, bool always)
{
	PluginState *state = plugin_state(ctx);
	uint64		changes = state->type_changes;
	FrameScope	scope = frame_scope_begin(state, true);
	List	   *types = list_make1_oid(type_id);

	for (int i = 0; i < list_length(types); i++)
	{
		Oid			id = list_nth_oid(types, i);
		MetadataTold *stream = told_in_stream(state, txn, false);
		ToldType   *told;
		StringInfoData content;
		uint64		hash;

		initStringInfo(&content);
		write_type(&content, id, &types);
		hash = frame_hash(&content);

		told = find_told(stream, id);
		if (told == NULL)
			told = find_told(&state->metadata->told, id);
		if (told && told->content == hash && !(always && i == 0))
		{
			told->checked = changes;
			continue;
		}
		frame_send(ctx, txn, "pgoutput_ext.type", &content);
		remember_told(state->in_streaming ? told_in_stream(state, txn, true) :
					  &state->metadata->told, id, hash, changes);
	}
	frame_scope_end(state, &scope);
}

/* Is it known that a type is as the client was told? */
static bool
type_is_known(PluginState *state, ReorderBufferTXN *txn, Oid type_id)
{
	ToldType   *told = find_told(told_in_stream(state, txn, false), type_id);

	if (told == NULL)
		told = find_told(&state->metadata->told, type_id);
	return told && told->checked == state->type_changes;
}

/*
 * type_frame_send
 *		Sends pgoutput_ext.type for a type that has just been announced.
 */
void
type_frame_send(LogicalDecodingContext *ctx, ReorderBufferTXN *txn,
				Oid type_id)
{
	send_type_and_parts(ctx, txn, type_id, true);
}

/*
 * types_send_changed
 *		Sends pgoutput_ext.type for those types of a relation's columns that
 *		are not as the client was told.
 */
void
types_send_changed(LogicalDecodingContext *ctx, ReorderBufferTXN *txn,
				   RelationPlan *plan)
{
	PluginState *state = plugin_state(ctx);
	uint64		stream = state->in_streaming ? transaction_of(txn)->stream : 0;
	uint64		changes = state->type_changes;

	ToldRelation *known = &plan->known->told;

	if (known->types_checked == changes && known->types_stream == stream)
		return;
	if (plan->tuple == NULL)	/* Truncate: there are no values */
		return;
	for (int i = 0; i < plan->tuple->nsource; i++)
	{
		TypeEntry  *type = plan->tuple->source[i].type;
		Oid			type_id = type ? type->encoder.type_id : InvalidOid;

		if (type_id >= FirstGenbkiObjectId &&
			!type_is_known(state, txn, type_id))
			send_type_and_parts(ctx, txn, type_id, false);
	}
	known->types_checked = changes;
	known->types_stream = stream;
}
