/*-------------------------------------------------------------------------
 *
 * metadata_relation.c
 *	  The frame pgoutput_ext.relation.
 *
 * Called by told.c behind each Relation.  All is allocated in the
 * context of metadata frames, and read from the relation's cache entry and
 * catalog caches; no relation is opened or locked for it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_collation.h"
#include "catalog/pg_index.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/relcache.h"
#include "utils/ruleutils.h"
#include "utils/syscache.h"

#include "metadata/json_write.h"
#include "metadata/metadata_expression.h"
#include "metadata/metadata_frames.h"

static const char *
relation_kind(Relation relation)
{
	switch (relation->rd_rel->relkind)
	{
		case RELKIND_RELATION:
			return "table";
		case RELKIND_PARTITIONED_TABLE:
			return "partitioned table";
		default:
			elog(ERROR, "unexpected kind of relation %u: %c",
				 RelationGetRelid(relation), relation->rd_rel->relkind);
	}
}

static const char *
replica_identity(Relation relation)
{
	switch (relation->rd_rel->relreplident)
	{
		case REPLICA_IDENTITY_DEFAULT:
			return "default";
		case REPLICA_IDENTITY_NOTHING:
			return "nothing";
		case REPLICA_IDENTITY_FULL:
			return "full";
		case REPLICA_IDENTITY_INDEX:
			return "index";
		default:
			elog(ERROR, "unexpected replica identity of relation %u: %c",
				 RelationGetRelid(relation), relation->rd_rel->relreplident);
	}
}

/* What names a relation. */
static void
write_name(StringInfo out, Relation relation)
{
	Oid			schema_id = RelationGetNamespace(relation);
	char	   *schema = get_namespace_name(schema_id);

	if (schema == NULL)
		elog(ERROR, "cache lookup failed for namespace %u", schema_id);
	jw_integer_member(out, "id", RelationGetRelid(relation));
	jw_string_member(out, "schema", schema);
	jw_string_member(out, "name", RelationGetRelationName(relation));
}

/*
 * The columns of an index in its order, if it is the primary key and all of
 * them are sent, else NIL.
 */
static List *
primary_key_of_index(Oid index_id, TupleDesc desc, const ColumnSet *columns)
{
	HeapTuple	tuple = SearchSysCache1(INDEXRELID, ObjectIdGetDatum(index_id));
	Form_pg_index index;
	List	   *attnums = NIL;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for index %u", index_id);
	index = (Form_pg_index) GETSTRUCT(tuple);
	for (int i = 0; index->indisprimary && i < index->indnkeyatts; i++)
	{
		AttrNumber	attnum = index->indkey.values[i];

		if (!column_is_sent(TupleDescAttr(desc, attnum - 1), columns))
		{
			attnums = NIL;
			break;
		}
		attnums = lappend_int(attnums, attnum);
	}
	ReleaseSysCache(tuple);
	return attnums;
}

/*
 * The primary key, also a deferrable one and under any replica identity.  A
 * key of which not all columns are sent is none for the client.
 */
static void
write_primary_key(StringInfo out, Relation relation, const ColumnSet *columns)
{
	TupleDesc	desc = RelationGetDescr(relation);
	List	   *attnums = NIL;
	ListCell   *lc;

	foreach(lc, RelationGetIndexList(relation))
	{
		attnums = primary_key_of_index(lfirst_oid(lc), desc, columns);
		if (attnums != NIL)
			break;
	}

	jw_key(out, "primary_key");
	jw_open(out, '[');
	foreach(lc, attnums)
		jw_string(out, NameStr(TupleDescAttr(desc, lfirst_int(lc) - 1)->attname));
	jw_close(out, ']');
}

static const char *
generated_kind(char attgenerated)
{
	if (attgenerated == '\0')
		return NULL;
	return attgenerated == ATTRIBUTE_GENERATED_STORED ? "stored" : "virtual";
}

static const char *
identity_kind(char attidentity)
{
	if (attidentity == '\0')
		return NULL;
	return attidentity == ATTRIBUTE_IDENTITY_ALWAYS ? "always" : "by default";
}

/* SQL text of a collation; a plain word for the database's own. */
static const char *
collation_name(Oid collation)
{
	if (!OidIsValid(collation))
		return NULL;
	return collation == DEFAULT_COLLATION_OID ? "default" :
		generate_collation_name(collation);
}

/* The expression of a column; no member if it could not be put into words. */
static void
write_default(StringInfo out, Relation relation, Form_pg_attribute att)
{
	char	   *text = NULL;

	if (!att->atthasdef ||
		(text = metadata_column_expression(relation, att->attnum)) != NULL)
		jw_string_member(out, "default", text);
}

static void
write_column(StringInfo out, Relation relation, Form_pg_attribute att)
{
	jw_open(out, '{');
	jw_string_member(out, "name", NameStr(att->attname));
	jw_integer_member(out, "attnum", att->attnum);
	jw_string_member(out, "type",
					 format_type_with_typemod(att->atttypid, att->atttypmod));
	jw_bool_member(out, "not_null", att->attnotnull);
	write_default(out, relation, att);
	jw_string_member(out, "generated", generated_kind(att->attgenerated));
	jw_string_member(out, "identity", identity_kind(att->attidentity));
	jw_string_member(out, "collation", collation_name(att->attcollation));
	jw_close(out, '}');
}

/*
 * relation_frame_send
 *		Sends pgoutput_ext.relation for a relation that has just been
 *		announced.
 */
void
relation_frame_send(LogicalDecodingContext *ctx, ReorderBufferTXN *txn,
					Relation relation, const ColumnSet *columns,
					Relation root)
{
	PluginState *state = plugin_state(ctx);
	TupleDesc	desc = RelationGetDescr(relation);
	StringInfoData content;
	FrameScope	scope;

	scope = frame_scope_begin(state, true);
	initStringInfo(&content);
	jw_open(&content, '{');
	write_name(&content, relation);
	jw_string_member(&content, "kind", relation_kind(relation));
	jw_key(&content, "root");
	if (root && root != relation)
	{
		jw_open(&content, '{');
		write_name(&content, root);
		jw_close(&content, '}');
	}
	else
		jw_string(&content, NULL);
	jw_string_member(&content, "replica_identity", replica_identity(relation));
	write_primary_key(&content, relation, columns);
	jw_key(&content, "columns");
	jw_open(&content, '[');
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);

		if (column_is_sent(att, columns))
			write_column(&content, relation, att);
	}
	jw_close(&content, ']');
	jw_close(&content, '}');
	frame_send(ctx, txn, "pgoutput_ext.relation", &content);
	frame_scope_end(state, &scope);
}
