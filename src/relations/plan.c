/*-------------------------------------------------------------------------
 *
 * plan.c
 *	  Relation plans: build, look up, evict.
 *
 * Callbacks ask for a relation's plan at each change.  A plan is built in the
 * per-change context, with the historic snapshot of the change; what stays is
 * copied to the session's context.  A plan that failed to be built stays
 * invalid and is built again.
 *
 * Invalidations arrive at any time, also while a plan is built: they only
 * mark.  That of one relation is counted in its entry, all others bump the
 * session's generation, so that none ever walks the relations.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "relations/inheritance.h"
#include "relations/invalidation.h"
#include "options/pattern.h"
#include "options/setting.h"
#include "relations/plan.h"
#include "relations/publication.h"
#include "relations/row_filter.h"
#include "server/quirks.h"

/* How many tuple plans in use are passed over in search of one to evict. */
#define MAX_SECOND_CHANCES 16

/*
 * plans_init
 *		Prepares a session's plans.
 */
void
plans_init(PluginState *state)
{
	dlist_init(&state->tuple_plans);
	state->generation = 1;
}

static void
free_tuple_plan(PluginState *state, RelationPlan *plan)
{
	if (plan->tuple == NULL)
		return;
	dlist_delete(&plan->node);
	state->tuple_plan_count--;
	pfree(plan->tuple);
	plan->tuple = NULL;
}

/*
 * Makes room for one more tuple plan: the one that has not been used for
 * longest goes, or nearly.  That of the change at hand is not in the list yet.
 */
static void
evict_tuple_plans(PluginState *state)
{
	int			chances = MAX_SECOND_CHANCES;

	while (state->tuple_plan_count >= setting_max_tuple_plans)
	{
		dlist_node *tail = dlist_tail_node(&state->tuple_plans);
		RelationPlan *plan = dlist_container(RelationPlan, node, tail);

		if (plan->used && chances-- > 0)
		{
			plan->used = false;
			dlist_move_head(&state->tuple_plans, tail);
		}
		else
			free_tuple_plan(state, plan);
	}
}

static uint8
align_mask(char attalign)
{
	switch (attalign)
	{
		case TYPALIGN_DOUBLE:
			return ALIGNOF_DOUBLE - 1;
		case TYPALIGN_INT:
			return ALIGNOF_INT - 1;
		case TYPALIGN_SHORT:
			return ALIGNOF_SHORT - 1;
		default:
			return 0;
	}
}

static ColumnLayout
column_layout(Form_pg_attribute att)
{
	if (att->attlen == -1)
		return LAYOUT_VARLENA;
	if (att->attlen == -2)
		return LAYOUT_CSTRING;
	if (!att->attbyval)
		return LAYOUT_FIXED;
	switch (att->attlen)
	{
		case 1:
			return LAYOUT_1_BYTE;
		case 2:
			return LAYOUT_2_BYTES;
		case 4:
			return LAYOUT_4_BYTES;
		case 8:
			return LAYOUT_8_BYTES;
		default:
			elog(ERROR, "unexpected length %d of a type passed by value",
				 att->attlen);
	}
	return LAYOUT_FIXED;		/* keep the compiler quiet */
}

/* Fills in how the relation's own heap tuples are read. */
static void
plan_source_columns(TuplePlan *plan, TupleDesc desc)
{
	for (int i = 0; i < plan->nsource; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);
		SourceColumn *column = &plan->source[i];

		column->type = NULL;
		column->length = att->attlen;
		column->layout = column_layout(att);
		column->align_mask = align_mask(att->attalign);
	}
}

/*
 * Can tuples be written as they are read?  If the columns sent come in the
 * tuples' order, and nobody looks at their values before.
 */
static bool
can_be_direct(PluginState *state, const RelationPlan *plan,
			  const SentColumn *sent, int nsent)
{
	int			last = -1;

	if (plan->filter || state->options.split_key_updates ||
		state->options.unchanged_toast != UNCHANGED_TOAST_MARKER)
		return false;
	for (int i = 0; i < nsent; i++)
	{
		if (sent[i].source <= last)
			return false;
		last = sent[i].source;
	}
	return true;
}

/*
 * The columns that are sent of a relation's tuples as those of "target", in the
 * current memory context.
 */
static SentColumn *
plan_sent_columns(PluginState *state, const RelationPlan *plan,
				  Relation relation, Relation target, int *nsent)
{
	TupleDesc	desc = RelationGetDescr(target);
	AttrMap    *map = NULL;
	SentColumn *sent = palloc(sizeof(SentColumn) * desc->natts);

	if (relation != target)
		map = compat_attrmap_by_name(RelationGetDescr(relation), desc);

	*nsent = 0;
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);
		SentColumn *column = &sent[*nsent];

		if (!column_is_sent(att, &plan->columns))
			continue;
		column->type = type_entry(state, att->atttypid);
		column->source = map ? map->attnums[i] - 1 : i;
		column->attnum = i + 1;
		column->varlena = att->attlen == -1;
		(*nsent)++;
	}
	return sent;
}

/*
 * plan_tuple_build
 *		Builds the plan of a relation's tuples, sent as those of "target".
 */
void
plan_tuple_build(PluginState *state, RelationPlan *plan, Relation relation,
				 Relation target)
{
	TupleDesc	desc = RelationGetDescr(relation);
	int			nsent;
	SentColumn *sent = plan_sent_columns(state, plan, relation, target,
										 &nsent);
	int			nsource = 0;
	TuplePlan  *tuple;
	bool		direct;
	Size		size;

	for (int i = 0; i < nsent; i++)
		nsource = Max(nsource, sent[i].source + 1);
	if (plan->filter || state->options.split_key_updates)
		nsource = desc->natts;

	direct = can_be_direct(state, plan, sent, nsent);
	size = MAXALIGN(sizeof(TuplePlan)) + sizeof(SourceColumn) * nsource;
	if (!direct)
	{
		size += sizeof(SentColumn) * nsent;
		tuples_make_room(state, nsource);
	}

	tuple = MemoryContextAlloc(state->context, size);
	tuple->target_changes = plan->target->changes;
	tuple->direct = direct;
	tuple->missing_is_null = SERVER_LOSES_ADDED_COLUMNS_BY_ROOT &&
		target != relation;
	tuple->nsource = nsource;
	tuple->nsent = nsent;
	tuple->source = (SourceColumn *) ((char *) tuple + MAXALIGN(sizeof(TuplePlan)));
	tuple->sent = NULL;
	plan_source_columns(tuple, desc);
	for (int i = 0; i < nsent; i++)
	{
		if (sent[i].source >= 0)
			tuple->source[sent[i].source].type = sent[i].type;
	}
	if (!direct)
	{
		tuple->sent = (SentColumn *) (tuple->source + nsource);
		memcpy(tuple->sent, sent, sizeof(SentColumn) * nsent);
	}

	free_tuple_plan(state, plan);
	evict_tuple_plans(state);
	plan->tuple = tuple;
	dlist_push_head(&state->tuple_plans, &plan->node);
	state->tuple_plan_count++;
}

/* The plan of a relation that is to be built, in the session's context. */
static RelationPlan *
plan_find_or_make(PluginState *state, KnownRelation *known)
{
	RelationPlan *plan = known->plan;

	if (plan)
		return plan;
	plan = MemoryContextAllocZero(state->context, sizeof(RelationPlan));
	plan->relid = known->relid;
	plan->known = plan->target = known;
	known->plan = plan;
	return plan;
}

/* Drops what was built, before it is built again. */
static void
plan_reset(PluginState *state, RelationPlan *plan)
{
	plan->inserts = plan->updates = plan->deletes = plan->truncates = false;
	plan->identity_warned = false;
	free_tuple_plan(state, plan);
	if (plan->filter)
	{
		RowFilter  *filter = plan->filter;

		plan->filter = NULL;
		row_filter_free(filter);
	}
	bms_free(plan->key);
	plan->key = NULL;
	plan->key_known = false;
	plan->identity_known = false;
	if (plan->own_columns.members != plan->columns.members)
		bms_free(plan->own_columns.members);
	bms_free(plan->columns.members);
	memset(&plan->columns, 0, sizeof(ColumnSet));
	memset(&plan->own_columns, 0, sizeof(ColumnSet));
}

/* A relation's schema and name, for patterns. */
static void
relation_names(Relation relation, const char **names)
{
	Oid			schema_id = RelationGetNamespace(relation);

	names[0] = get_namespace_name(schema_id);
	if (names[0] == NULL)
		elog(ERROR, "cache lookup failed for namespace %u", schema_id);
	names[1] = RelationGetRelationName(relation);
}

/* Do options include_tables and exclude_tables leave a relation in? */
static bool
table_is_included(PluginState *state, Relation relation)
{
	const PluginOptions *options = &state->options;
	const char *names[2];

	if (!options->include_tables && !options->exclude_tables)
		return true;
	relation_names(relation, names);
	if (options->include_tables &&
		!pattern_list_matches(options->include_tables, 2, names))
		return false;
	return !pattern_list_matches(options->exclude_tables, 2, names);
}

/* Those columns of "to" whose namesakes of "from" are sent. */
static ColumnSet
columns_by_name(Relation from, const ColumnSet *columns, Relation to)
{
	ColumnSet	result = {.listed = true};
	TupleDesc	from_desc = RelationGetDescr(from);
	TupleDesc	desc = RelationGetDescr(to);

	for (int i = 0; i < from_desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(from_desc, i);

		if (!column_is_sent(att, columns))
			continue;
		for (int j = 0; j < desc->natts; j++)
		{
			Form_pg_attribute other = TupleDescAttr(desc, j);

			if (!other->attisdropped &&
				strcmp(NameStr(att->attname), NameStr(other->attname)) == 0)
				result.members = bms_add_member(result.members, j + 1);
		}
	}
	return result;
}

static void
report_excluded_key(Relation relation, const char *column)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("column \"%s\" of relation \"%s.%s\" cannot be left out",
					column,
					get_namespace_name(RelationGetNamespace(relation)),
					RelationGetRelationName(relation)),
			 errdetail("Option exclude_columns matches it, but it is part of the replica identity, and updates or deletes are published."),
			 errhint("Narrow exclude_columns, or exclude the relation with exclude_tables.")));
}

/* Takes the columns that option exclude_columns matches out of a set. */
static void
exclude_columns(PluginState *state, RelationPlan *plan, Relation relation,
				ColumnSet *columns)
{
	TupleDesc	desc = RelationGetDescr(relation);
	Bitmapset  *identity = NULL;
	Bitmapset  *members = NULL;
	bool		excluded = false;
	const char *names[3];

	relation_names(relation, names);
	if (plan->updates || plan->deletes)
		identity = relation_identity_columns(relation);

	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);

		if (!column_is_sent(att, columns))
			continue;
		names[2] = NameStr(att->attname);
		if (!pattern_list_matches(state->options.exclude_columns, 3, names))
		{
			members = bms_add_member(members, i + 1);
			continue;
		}
		excluded = true;
		if (bms_is_member(i + 1 - FirstLowInvalidHeapAttributeNumber, identity))
			report_excluded_key(relation, names[2]);
	}
	if (excluded)
	{
		columns->listed = true;
		columns->members = members;
	}
}

/*
 * Decides which columns are sent, of the relation announced and, beside an
 * announced root, of the relation itself.
 */
static void
plan_columns(PluginState *state, RelationPlan *plan, Relation relation,
			 const PublishedAs *published, Relation published_as,
			 Relation announced_as)
{
	ColumnSet	columns;
	ColumnSet	own;
	MemoryContext old;

	publications_columns(published, published_as,
						 state->options.generated_columns, &columns);
	if (published_as != announced_as)
		columns = columns_by_name(published_as, &columns, announced_as);
	own = columns;
	own.members = quirk_columns_beside_root(columns.members);
	if (state->options.exclude_columns)
		exclude_columns(state, plan, announced_as, &columns);

	/* the client sees the partition's own columns if an option chose them */
	if (relation != announced_as &&
		(state->options.exclude_columns || published_as != announced_as))
		own = columns_by_name(announced_as, &columns, relation);

	old = MemoryContextSwitchTo(state->context);
	plan->columns = columns;
	plan->columns.members = bms_copy(columns.members);
	plan->own_columns = own;
	plan->own_columns.members = own.members == columns.members ?
		plan->columns.members : bms_copy(own.members);
	MemoryContextSwitchTo(old);
}

/* Opens a relation by OID, unless it is the one given. */
static Relation
open_relative(Relation relation, Oid relid)
{
	Relation	result;

	if (relation && relid == RelationGetRelid(relation))
		return relation;
	result = RelationIdGetRelation(relid);
	if (!RelationIsValid(result))
		elog(ERROR, "could not open relation with OID %u", relid);
	return result;
}

/*
 * plan_open_root
 *		The relation that a partition's changes are announced as, to be closed
 *		by the caller.
 */
Relation
plan_open_root(const RelationPlan *plan)
{
	return open_relative(NULL, plan->announced_as);
}

/*
 * Asks what the publications say of a relation.
 *
 * Where the server's pgoutput does so only after a change of publications, and
 * keeps the answer while the relation itself changes, so does the plan.
 */
static void
plan_ask_publications(PluginState *state, RelationPlan *plan,
					  Relation relation, PublishedAs *published)
{
	uint64		changes = state->publication_changes;

	if (!SERVER_ASKS_AGAIN_WITH_RELATION &&
		plan->publication_changes == changes)
	{
		memset(published, 0, sizeof(*published));
		published->actions = plan->actions;
		published->relid = plan->published_as;
		published->announced = plan->announced_as;
		return;
	}

	plan->publication_changes = 0;
	publications_of_relation(state, relation, published);
	plan->actions = published->actions;
	plan->published_as = published->relid;
	plan->announced_as = published->announced;
	plan->target = plan->known;
	if (plan->announced_as != plan->relid)
	{
		plan->target = relation_find_or_make(state, plan->announced_as);
		plan->target->is_root = true;
	}
	plan->publication_changes = changes;
}

/*
 * Has changes of a child by INHERITS announced as those of its topmost parent,
 * by option inheritance_root.  Which rows and columns are sent stays what the
 * publications say of the child.  Partitions are partition_root's.
 */
static void
plan_follow_inheritance(PluginState *state, RelationPlan *plan,
						Relation relation, PublishedAs *published)
{
	Oid			root;

	if (relation->rd_rel->relispartition)
		return;
	root = inheritance_root(state, plan->relid);
	published->announced = plan->announced_as = root;
	plan->target = relation_find_or_make(state, root);
	/* also where what was told outlives the plan: the name may be another */
	if (root != plan->relid)
		told_forget(state, &plan->known->told);
}

/*
 * plan_build
 *		Builds the plan of a relation; NULL if it can never be published.
 *
 * Like pgoutput, finds out about filters and columns when any change of rows
 * is published at all, and raises its errors about them.
 */
RelationPlan *
plan_build(PluginState *state, Relation relation)
{
	Oid			relid = RelationGetRelid(relation);
	RelationPlan *plan;
	PublishedAs published;
	Relation	published_as = relation;
	Relation	announced_as = relation;
	uint64		generation = state->generation;

	if (!is_publishable_relation(relation))
		return NULL;

	plan = plan_find_or_make(state, relation_find_or_make(state, relid));
	plan_reset(state, plan);
	state->plans_built++;
	if (SERVER_FORGETS_WITH_PUBLICATIONS)
		told_forget(state, &plan->known->told);

	/*
	 * An invalidation that arrives from here on leaves the plan stale, and so
	 * does an error, since there is no generation 0.
	 */
	plan->changes = plan->known->changes;
	plan->generation = 0;

	plan_ask_publications(state, plan, relation, &published);
	if (state->options.inheritance_root == INHERITANCE_ROOT_ALWAYS &&
		(published.actions.pubinsert || published.actions.pubupdate ||
		 published.actions.pubdelete || published.actions.pubtruncate))
		plan_follow_inheritance(state, plan, relation, &published);

	/* like pgoutput, only for rows: to open them can scan catalogs */
	if (published.actions.pubinsert || published.actions.pubupdate ||
		published.actions.pubdelete || session_watches_names(state))
	{
		published_as = open_relative(relation, published.relid);
		announced_as = open_relative(relation, published.announced);
	}

	if (table_is_included(state, announced_as))
	{
		plan->inserts = published.actions.pubinsert;
		plan->updates = published.actions.pubupdate;
		plan->deletes = published.actions.pubdelete;
		plan->truncates = published.actions.pubtruncate;
	}
	if (plan->inserts || plan->updates || plan->deletes)
	{
		plan->filter = row_filter_build(state, &published, relation,
										published_as);
		plan_columns(state, plan, relation, &published, published_as,
					 announced_as);
	}

	if (published_as != relation)
		RelationClose(published_as);
	if (announced_as != relation)
		RelationClose(announced_as);

	plan->generation = generation;
	state->last_relation = plan->known;
	return plan;
}
