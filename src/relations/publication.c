/*-------------------------------------------------------------------------
 *
 * publication.c
 *	  What the named publications say of a relation.
 *
 * Called by plan.c when it builds a plan, with the historic snapshot of the
 * change.  The list of publications lives in a context of its own that is
 * reset when it is loaded again; all else is allocated in the current memory
 * context.
 *
 * Whether a relation is in a publication is asked of the catalogs by key, for
 * each publication that the client named: listing the publications of a
 * relation costs far more where relations are many.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/partition.h"
#include "catalog/pg_class.h"
#include "catalog/pg_publication_rel.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "relations/publication.h"
#include "relations/publication_missing.h"
#include "server/quirks.h"

/*
 * publications_load
 *		Reads the named publications, if they may have changed.
 */
void
publications_load(PluginState *state)
{
	ListCell   *lc;
	MemoryContext old;

	uint64		changes = state->publication_list_changes;

	if (state->publications_read == changes)
		return;

	/* an error leaves it unread, and so does a change from here on */
	state->publications_read = 0;
	state->publications = NIL;
	MemoryContextReset(state->publication_context);
	old = MemoryContextSwitchTo(state->publication_context);
	foreach(lc, state->options.publication_names)
	{
		char	   *name = lfirst(lc);
		Publication *publication = GetPublicationByName(name, true);

		if (publication)
			state->publications = lappend(state->publications, publication);
		else
			publication_report_missing(state, name);
	}
	MemoryContextSwitchTo(old);
	state->publications_read = changes;
}

/* Is a schema in a publication? */
bool
publication_has_schema(Publication *publication, Oid schema_id)
{
#ifdef HAVE_PUBLICATION_DETAILS
	return SearchSysCacheExists2(PUBLICATIONNAMESPACEMAP,
								 ObjectIdGetDatum(schema_id),
								 ObjectIdGetDatum(publication->oid));
#else
	return false;
#endif
}

/*
 * Is a relation named by a publication?  With "except", is it excluded from
 * one FOR ALL TABLES?
 */
static bool
publication_names_relation(PluginState *state, Publication *publication,
						   Oid relid, bool except)
{
	HeapTuple	tuple;
	bool		result = true;

	quirk_notice_abort_by_relation(state, relid);
	tuple = SearchSysCache2(PUBLICATIONRELMAP, ObjectIdGetDatum(relid),
							ObjectIdGetDatum(publication->oid));
	if (!HeapTupleIsValid(tuple))
		return false;
#ifdef HAVE_EXCEPT_TABLES
	result = ((Form_pg_publication_rel) GETSTRUCT(tuple))->prexcept == except;
#endif
	ReleaseSysCache(tuple);
	return result;
}

/* Is a relation in a publication, by itself or by its schema? */
static bool
publication_has_relation(PluginState *state, Publication *publication,
						 Oid relid)
{
	Oid			schema_id;

	if (publication_names_relation(state, publication, relid, false))
		return true;
	schema_id = get_rel_namespace(relid);
	quirk_notice_abort_by_schema(state, schema_id);
	return publication_has_schema(publication, schema_id);
}

/*
 * Does a publication publish a relation with the given ancestors?  If one of
 * them is published, sets "*root" to the topmost such, and "*level" to how
 * far up it is.
 */
static bool
publication_publishes(PluginState *state, Publication *publication, Oid relid,
					  List *ancestors, Oid *root, int *level)
{
	int			height = 0;
	ListCell   *lc;

	*root = InvalidOid;
	*level = 0;

	if (publication->alltables)
	{
		if (ancestors != NIL)
		{
			*root = llast_oid(ancestors);
			*level = list_length(ancestors);
		}
#ifdef HAVE_EXCEPT_TABLES
		if (publication_names_relation(state, publication,
									   OidIsValid(*root) ? *root : relid,
									   true))
			return false;
#endif
		return true;
	}

	foreach(lc, ancestors)
	{
		height++;
		if (publication_has_relation(state, publication, lfirst_oid(lc)))
		{
			*root = lfirst_oid(lc);
			*level = height;
		}
	}
	return OidIsValid(*root) ||
		publication_has_relation(state, publication, relid);
}

/* Do a publication's changes of partitions go by the ancestor's name? */
static bool
announces_root(PluginState *state, Publication *publication)
{
	switch ((PartitionRoot) state->options.partition_root)
	{
		case PARTITION_ROOT_ALWAYS:
			return true;
		case PARTITION_ROOT_NEVER:
			return false;
		case PARTITION_ROOT_PUBLICATION:
			break;
	}
	return publication->pubviaroot;
}

static void
add_actions(PublicationActions *to, const PublicationActions *from)
{
	to->pubinsert |= from->pubinsert;
	to->pubupdate |= from->pubupdate;
	to->pubdelete |= from->pubdelete;
	to->pubtruncate |= from->pubtruncate;
}

/* Does what a publication says of a partition depend on its ancestors? */
static bool
asks_for_ancestors(PluginState *state, Publication *publication)
{
#ifdef HAVE_EXCEPT_TABLES
	return true;
#else
	return !publication->alltables || publication->pubviaroot ||
		announces_root(state, publication);
#endif
}

/*
 * publications_of_relation
 *		Finds out what the named publications say of a relation.
 *
 * Changes are published as the topmost ancestor over all publications with
 * publish_via_partition_root; only the publications that publish that one
 * decide on rows and columns.  A partitioned table itself has no changes but
 * TRUNCATE, and is published only if its partitions are published as it.
 */
void
publications_of_relation(PluginState *state, Relation relation,
						 PublishedAs *result)
{
	Oid			relid = RelationGetRelid(relation);
	bool		partitioned =
	relation->rd_rel->relkind == RELKIND_PARTITIONED_TABLE;
	List	   *ancestors = NIL;
	int			top_level = 0;
	int			announced_level = 0;
	ListCell   *lc;

	/* pgoutput looks these up for each relation, needed or not */
	if (quirk_aborts_matter(state))
	{
		Oid			schema_id = get_rel_namespace(relid);

		quirk_notice_abort_by_relation(state, relid);
		quirk_notice_abort_by_schema(state, schema_id);
	}

	memset(result, 0, sizeof(*result));
	result->relid = result->announced = relid;

	publications_load(state);
	foreach(lc, state->publications)
	{
		Publication *publication = lfirst(lc);
		Oid			root;
		int			level;

		if (relation->rd_rel->relispartition && ancestors == NIL &&
			asks_for_ancestors(state, publication))
			ancestors = get_partition_ancestors(relid);
		if (!publication_publishes(state, publication, relid, ancestors, &root,
								   &level))
			continue;
		if (partitioned && !announces_root(state, publication))
			continue;

		add_actions(&result->actions, &publication->pubactions);

		if (level > announced_level && announces_root(state, publication))
		{
			announced_level = level;
			result->announced = root;
		}

		if (!publication->pubviaroot)
			level = 0;
		if (level < top_level)
			continue;
		if (level > top_level)
		{
			top_level = level;
			result->relid = root;
			result->publications = NIL;
		}
		result->publications = lappend(result->publications, publication);
	}
	list_free(ancestors);
}

#ifdef HAVE_PUBLICATION_DETAILS
/* Raises the server's error for column lists that differ. */
static void
report_different_lists(Relation relation)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("cannot use different column lists for table \"%s.%s\" in different publications",
					get_namespace_name(RelationGetNamespace(relation)),
					RelationGetRelationName(relation))));
}

/* The column list that a publication has for a relation, NULL if none. */
static Bitmapset *
publication_column_list(Publication *publication, Oid relid)
{
	HeapTuple	tuple;
	Datum		list;
	bool		isnull;
	Bitmapset  *columns = NULL;

	if (publication->alltables)
		return NULL;
	tuple = SearchSysCache2(PUBLICATIONRELMAP, ObjectIdGetDatum(relid),
							ObjectIdGetDatum(publication->oid));
	if (!HeapTupleIsValid(tuple))
		return NULL;
	list = SysCacheGetAttr(PUBLICATIONRELMAP, tuple,
						   Anum_pg_publication_rel_prattrs, &isnull);
	if (!isnull)
	{
		ArrayType  *array = DatumGetArrayTypeP(list);
		int16	   *attnums = (int16 *) ARR_DATA_PTR(array);

		for (int i = 0; i < ARR_DIMS(array)[0]; i++)
			columns = bms_add_member(columns, attnums[i]);
	}
	ReleaseSysCache(tuple);
	return columns;
}
#endif

#ifdef HAVE_PUBLISHED_GENERATED_COLUMNS
static bool
has_generated_column(Relation relation)
{
	TupleDesc	desc = RelationGetDescr(relation);

	for (int i = 0; i < desc->natts; i++)
	{
		if (TupleDescAttr(desc, i)->attgenerated)
			return true;
	}
	return false;
}

/*
 * Do the publications without a column list ask for stored generated columns?
 * They have to agree.
 */
static bool
publications_want_generated(const PublishedAs *published, Relation relation)
{
	bool		first = true;
	bool		wanted = false;
	ListCell   *lc;

	if (!has_generated_column(relation))
		return false;
	foreach(lc, published->publications)
	{
		Publication *publication = lfirst(lc);
		bool		stored = publication->pubgencols_type == PUBLISH_GENCOLS_STORED;

		if (publication_column_list(publication, published->relid))
			continue;
		if (first)
			wanted = stored;
		else if (wanted != stored)
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("cannot use different values of publish_generated_columns for table \"%s.%s\" in different publications",
							get_namespace_name(RelationGetNamespace(relation)),
							RelationGetRelationName(relation))));
		first = false;
	}
	return wanted;
}

/*
 * The columns that a publication without a column list has for a relation,
 * for the comparison with the lists of others.
 */
static Bitmapset *
all_columns(Relation relation, const ColumnSet *columns)
{
	TupleDesc	desc = RelationGetDescr(relation);
	Bitmapset  *all = NULL;

	for (int i = 0; i < desc->natts; i++)
	{
		if (column_is_sent(TupleDescAttr(desc, i), columns))
			all = bms_add_member(all, i + 1);
	}
	return all;
}

/*
 * From 18 on, a publication without a column list counts as one of all its
 * columns, and a list of all columns is a list still.
 */
static void
combine_column_lists(const PublishedAs *published, Relation relation,
					 ColumnSet *columns)
{
	bool		several = list_length(published->publications) > 1;
	bool		listed = false;
	Bitmapset  *all = NULL;
	Bitmapset  *members = NULL;
	bool		first = true;
	ListCell   *lc;

	columns->stored = publications_want_generated(published, relation);
	foreach(lc, published->publications)
	{
		Bitmapset  *list = publication_column_list(lfirst(lc),
												   published->relid);

		if (list)
			listed = true;
		else if (several)
			list = all ? all : (all = all_columns(relation, columns));

		if (first)
			members = list;
		else if (!bms_equal(members, list))
			report_different_lists(relation);
		first = false;
	}
	columns->listed = listed && members != NULL;
	columns->members = listed ? members : NULL;
}
#elif defined(HAVE_PUBLICATION_DETAILS)
/*
 * Before 18, a list of all columns counts as none, and publications without a
 * list have to agree with those that have one.
 */
static void
combine_column_lists(const PublishedAs *published, Relation relation,
					 ColumnSet *columns)
{
	Bitmapset  *members = NULL;
	bool		first = true;
	ListCell   *lc;

	foreach(lc, published->publications)
	{
		Bitmapset  *list = publication_column_list(lfirst(lc),
												   published->relid);

		if (list && quirk_list_counts_as_none(relation, bms_num_members(list)))
			list = NULL;
		if (first)
			members = list;
		else if (!bms_equal(members, list))
			report_different_lists(relation);
		first = false;
	}
	columns->listed = members != NULL;
	columns->members = members;
}
#endif

/* Does any publication have a column list, even one that counts as none? */
static bool
names_columns(const PublishedAs *published)
{
#ifdef HAVE_PUBLICATION_DETAILS
	ListCell   *lc;

	foreach(lc, published->publications)
	{
		if (publication_column_list(lfirst(lc), published->relid))
			return true;
	}
#endif
	return false;
}

#ifdef HAVE_PUBLICATION_DETAILS
/*
 * publications_keep_open
 *		Keeps the relation that changes are published as open where pgoutput
 *		does, see quirk_keep_open().
 *
 * "unfiltered_all" tells that each action is published without a filter.
 */
void
publications_keep_open(PluginState *state, const PublishedAs *published,
					   Relation published_as, bool unfiltered_all)
{
	if (quirk_aborts_matter(state) &&
		(QUIRK_ALWAYS_KEEPS_OPEN || !unfiltered_all ||
		 names_columns(published)))
		quirk_keep_open(published_as);
}
#endif

/*
 * publications_columns
 *		Sets which columns of a relation, the one that changes are published
 *		as, the publications send.
 *
 * The bitmap is allocated in the current memory context.  Errors are those of
 * the server for publications that do not agree.
 */
void
publications_columns(const PublishedAs *published, Relation relation,
					 GeneratedColumns policy, ColumnSet *columns)
{
	memset(columns, 0, sizeof(*columns));
#ifdef HAVE_PUBLICATION_DETAILS
	combine_column_lists(published, relation, columns);
#endif

	if (policy == GENERATED_COLUMNS_STORED)
		columns->stored |= !names_columns(published);
	else if (policy == GENERATED_COLUMNS_NONE)
	{
		TupleDesc	desc = RelationGetDescr(relation);

		columns->stored = false;
		for (int i = 0; columns->listed && i < desc->natts; i++)
		{
			if (TupleDescAttr(desc, i)->attgenerated)
				columns->members = bms_del_member(columns->members, i + 1);
		}
	}
}
