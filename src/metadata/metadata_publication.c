/*-------------------------------------------------------------------------
 *
 * metadata_publication.c
 *	  The frame pgoutput_ext.publications.
 *
 * Called by metadata.c behind the start of each transaction and before each
 * change; the frame's content is allocated in the context of metadata frames.
 *
 * The frame is sent when its content differs from what the client was told.
 * The content is made when a publication may have changed, not more often.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/table.h"
#include "catalog/pg_publication_rel.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "compat.h"
#include "metadata/json_write.h"
#include "metadata/metadata_frames.h"

/*
 * Does a publication name tables, or name any as excepted?
 */
static void
publication_tables(Oid publication_id, bool *named, bool *excepted)
{
	Relation	catalog = table_open(PublicationRelRelationId,
									 AccessShareLock);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;

	*named = *excepted = false;
	ScanKeyInit(&key, Anum_pg_publication_rel_prpubid, BTEqualStrategyNumber,
				F_OIDEQ, ObjectIdGetDatum(publication_id));
	scan = systable_beginscan(catalog, PublicationRelPrpubidIndexId,
							  OidIsValid(PublicationRelPrpubidIndexId),
							  NULL, 1, &key);
	while (!(*named && *excepted) &&
		   HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
#ifdef HAVE_EXCEPT_TABLES
		if (((Form_pg_publication_rel) GETSTRUCT(tuple))->prexcept)
			*excepted = true;
		else
			*named = true;
#else
		*named = true;
		break;
#endif
	}
	systable_endscan(scan);
	table_close(catalog, AccessShareLock);
}

static void
write_kinds(StringInfo out, const Publication *publication)
{
	bool		named;
	bool		excepted;

	publication_tables(publication->oid, &named, &excepted);
	jw_key(out, "kinds");
	jw_open(out, '[');
	if (publication->alltables)
		jw_string(out, "all tables");
	if (excepted)
		jw_string(out, "except tables");
	if (named)
		jw_string(out, "tables");
#ifdef HAVE_PUBLICATION_DETAILS
	if (GetPublicationSchemas(publication->oid) != NIL)
		jw_string(out, "schemas");
#endif
#ifdef HAVE_ALL_SEQUENCES
	if (publication->allsequences)
		jw_string(out, "all sequences");
#endif
	jw_close(out, ']');
}

static void
write_actions(StringInfo out, const PublicationActions *actions)
{
	jw_key(out, "actions");
	jw_open(out, '[');
	if (actions->pubinsert)
		jw_string(out, "insert");
	if (actions->pubupdate)
		jw_string(out, "update");
	if (actions->pubdelete)
		jw_string(out, "delete");
	if (actions->pubtruncate)
		jw_string(out, "truncate");
	jw_close(out, ']');
}

static bool
sends_generated(const Publication *publication)
{
#ifdef HAVE_PUBLISHED_GENERATED_COLUMNS
	return publication->pubgencols_type == PUBLISH_GENCOLS_STORED;
#else
	return false;
#endif
}

/*
 * Looks publications up by itself: a missing one is told here, not acted on by
 * option missing_publication.
 */
static void
write_publications(StringInfo out, const List *names)
{
	ListCell   *lc;

	jw_open(out, '{');
	jw_key(out, "publications");
	jw_open(out, '[');
	foreach(lc, names)
	{
		const char *name = lfirst(lc);
		Publication *publication = GetPublicationByName(name, true);

		jw_open(out, '{');
		jw_string_member(out, "name", name);
		jw_bool_member(out, "found", publication != NULL);
		if (publication)
		{
			jw_integer_member(out, "id", publication->oid);
			write_kinds(out, publication);
			write_actions(out, &publication->pubactions);
			jw_bool_member(out, "via_root", publication->pubviaroot);
			jw_string_member(out, "generated_columns",
							 sends_generated(publication) ? "stored" : "none");
		}
		jw_close(out, '}');
	}
	jw_close(out, ']');
	jw_close(out, '}');
}

/*
 * publications_frame_send
 *		Sends pgoutput_ext.publications if it is asked for and the client does
 *		not know.
 */
void
publications_frame_send(LogicalDecodingContext *ctx, ReorderBufferTXN *txn)
{
	PluginState *state = plugin_state(ctx);
	MetadataTold *told = told_in_stream(state, txn, false);
	uint64		changes = state->publication_changes;
	StringInfoData content;
	FrameScope	scope;
	uint64		hash;

	if (!state->options.publication_metadata)
		return;
	if (told == NULL || !told->publications)
		told = &state->metadata->told;
	if (told->publications && told->publications_checked == changes)
		return;

	scope = frame_scope_begin(state, false);
	initStringInfo(&content);
	write_publications(&content, state->options.publication_names);
	hash = frame_hash(&content);
	if (!told->publications || told->publications_content != hash)
	{
		frame_send(ctx, txn, "pgoutput_ext.publications", &content);
		if (state->in_streaming)
			told = told_in_stream(state, txn, true);
		told->publications = true;
		told->publications_content = hash;
	}
	told->publications_checked = changes;
	frame_scope_end(state, &scope);
}
