/*-------------------------------------------------------------------------
 *
 * row_filter.c
 *	  Row filters of publications, and what they make of an UPDATE.
 *
 * plan.c builds a relation's filter together with its plan, in a context of
 * its own under the session's; change callbacks have it checked, which
 * evaluates in the executor's per-tuple memory.
 *
 * For each action the filters of all publications that publish it are OR-ed;
 * a publication of the action without a filter makes the action unfiltered.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_publication_rel.h"
#include "executor/executor.h"
#include "nodes/makefuncs.h"
#include "optimizer/optimizer.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

#include "relations/row_filter.h"
#ifdef HAVE_PUBLISHED_GENERATED_COLUMNS
#include "rewrite/rewriteHandler.h"
#endif

typedef enum FilteredAction
{
	FILTERED_INSERT,
	FILTERED_UPDATE,
	FILTERED_DELETE,
} FilteredAction;

#define FILTERED_ACTIONS (FILTERED_DELETE + 1)

struct RowFilter
{
	MemoryContext context;
	EState	   *estate;
	ExprState  *expressions[FILTERED_ACTIONS];	/* NULL: not filtered */
	AttrMap    *map;			/* from the relation to the one published as */
	TupleTableSlot *slot;		/* of the relation published as */
};

#ifdef HAVE_PUBLICATION_DETAILS
/* The filter that a publication has for a relation as text, NULL if none. */
static char *
publication_filter(Publication *publication, Oid relid, Oid schema_id)
{
	HeapTuple	tuple;
	Datum		filter;
	bool		isnull;
	char	   *result = NULL;

	if (publication->alltables ||
		publication_has_schema(publication, schema_id))
		return NULL;
	tuple = SearchSysCache2(PUBLICATIONRELMAP, ObjectIdGetDatum(relid),
							ObjectIdGetDatum(publication->oid));
	if (!HeapTupleIsValid(tuple))
		return NULL;
	filter = SysCacheGetAttr(PUBLICATIONRELMAP, tuple,
							 Anum_pg_publication_rel_prqual, &isnull);
	if (!isnull)
		result = TextDatumGetCString(filter);
	ReleaseSysCache(tuple);
	return result;
}

/*
 * Collects the filters of each action; NIL where the action is not filtered.
 * Returns whether any action is.  Sets "*unfiltered_all" if each action is
 * published by a publication without a filter.
 */
static bool
collect_filters(const PublishedAs *published, Relation relation,
				List **filters, bool *unfiltered_all)
{
	bool		unfiltered[FILTERED_ACTIONS] = {false};
	bool		any = false;
	ListCell   *lc;

	foreach(lc, published->publications)
	{
		Publication *publication = lfirst(lc);
		bool		publishes[FILTERED_ACTIONS] = {
			publication->pubactions.pubinsert,
			publication->pubactions.pubupdate,
			publication->pubactions.pubdelete,
		};
		char	   *filter = publication_filter(publication, published->relid,
												RelationGetNamespace(relation));

		for (int i = 0; i < FILTERED_ACTIONS; i++)
		{
			if (!publishes[i])
				continue;
			if (filter)
				filters[i] = lappend(filters[i], filter);
			else
				unfiltered[i] = true;
		}
	}

	*unfiltered_all = true;
	for (int i = 0; i < FILTERED_ACTIONS; i++)
	{
		if (unfiltered[i])
			filters[i] = NIL;
		else
			*unfiltered_all = false;
		any |= filters[i] != NIL;
	}
	return any;
}

/* Makes one expression of an action's filters, ready to be evaluated. */
static ExprState *
prepare_filters(EState *estate, Relation relation, List *filters)
{
	List	   *nodes = NIL;
	ListCell   *lc;

	foreach(lc, filters)
	{
		Node	   *node = stringToNode(lfirst(lc));

#ifdef HAVE_PUBLISHED_GENERATED_COLUMNS
		node = expand_generated_columns_in_expr(node, relation, 1);
#endif
		nodes = lappend(nodes, node);
	}
	return ExecPrepareExpr(make_orclause(nodes), estate);
}
#endif							/* HAVE_PUBLICATION_DETAILS */

/*
 * row_filter_build
 *		The filter of a relation's changes, NULL if they are not filtered.
 *
 * "published_as" is the relation that changes are published as, whose columns
 * the expressions are about.  Errors in expressions are raised as the server's
 * pgoutput has them.
 */
RowFilter *
row_filter_build(PluginState *state, const PublishedAs *published,
				 Relation relation, Relation published_as)
{
#ifdef HAVE_PUBLICATION_DETAILS
	List	   *filters[FILTERED_ACTIONS] = {NIL};
	RowFilter  *filter;
	MemoryContext context;
	MemoryContext old;
	bool		filtered;
	bool		unfiltered_all;

	filtered = collect_filters(published, published_as, filters,
							   &unfiltered_all);
	publications_keep_open(state, published, published_as, unfiltered_all);
	if (!filtered)
		return NULL;

	/*
	 * Until the filter is whole, its context hangs on the per-change one, so
	 * that an error in an expression leaves nothing behind.
	 */
	context = AllocSetContextCreate(state->change_context,
									"pgoutput_ext row filter",
									ALLOCSET_SMALL_SIZES);
	old = MemoryContextSwitchTo(context);
	filter = palloc0(sizeof(RowFilter));
	filter->context = context;
	filter->estate = CreateExecutorState();
	for (int i = 0; i < FILTERED_ACTIONS; i++)
	{
		if (filters[i])
			filter->expressions[i] = prepare_filters(filter->estate,
													 published_as, filters[i]);
	}
	if (relation != published_as)
		filter->map = compat_attrmap_by_name(RelationGetDescr(relation),
											 RelationGetDescr(published_as));
	filter->slot =
		MakeSingleTupleTableSlot(CreateTupleDescCopy(RelationGetDescr(published_as)),
								 &TTSOpsVirtual);
	MemoryContextSwitchTo(old);
	MemoryContextSetParent(context, state->context);
	return filter;
#else
	return NULL;
#endif
}

void
row_filter_free(RowFilter *filter)
{
	MemoryContextDelete(filter->context);
}

/* Does a tuple that was read pass?  NULL counts as false. */
static bool
tuple_passes(PluginState *state, RowFilter *filter, ExprState *expression,
			 int which)
{
	ExprContext *econtext = GetPerTupleExprContext(filter->estate);
	TupleTableSlot *slot = filter->slot;
	int			natts = slot->tts_tupleDescriptor->natts;
	const Datum *values = state->values[which];
	const bool *nulls = state->nulls[which];
	Datum		result;
	bool		isnull;

	ExecClearTuple(slot);
	for (int i = 0; i < natts; i++)
	{
		int			source = filter->map ? filter->map->attnums[i] - 1 : i;

		slot->tts_isnull[i] = source < 0 || nulls[source];
		slot->tts_values[i] = source < 0 ? (Datum) 0 : values[source];
	}
	ExecStoreVirtualTuple(slot);

	econtext->ecxt_scantuple = slot;
	result = ExecEvalExprSwitchContext(expression, econtext, &isnull);
	return !isnull && DatumGetBool(result);
}

/*
 * row_filter_check
 *		Is a change to be sent, and as which action?
 *
 * The tuples have been read, whole.  An UPDATE whose new row passes and whose
 * old one does not becomes an INSERT, with the old tuple's out-of-line values
 * where the new one lacks them; the other way round it becomes a DELETE.
 */
bool
row_filter_check(PluginState *state, RowFilter *filter, const TuplePlan *plan,
				 bool has_old, bool has_new, ReorderBufferChangeType *action)
{
	FilteredAction filtered =
	*action == REORDER_BUFFER_CHANGE_INSERT ? FILTERED_INSERT :
	*action == REORDER_BUFFER_CHANGE_UPDATE ? FILTERED_UPDATE :
	FILTERED_DELETE;
	ExprState  *expression = filter->expressions[filtered];
	Datum	   *saved;
	bool		old_passes;
	bool		new_passes;

	if (expression == NULL)
		return true;
	ResetPerTupleExprContext(filter->estate);

	if (!has_old || !has_new)
		return tuple_passes(state, filter, expression,
							has_new ? NEW_TUPLE : OLD_TUPLE);

	old_passes = tuple_passes(state, filter, expression, OLD_TUPLE);
	saved = tuple_take_old_toast(state, plan);
	new_passes = tuple_passes(state, filter, expression, NEW_TUPLE);

	if (new_passes && !old_passes)
		*action = REORDER_BUFFER_CHANGE_INSERT;
	else if (saved)
		memcpy(state->values[NEW_TUPLE], saved, plan->nsource * sizeof(Datum));
	if (old_passes && !new_passes)
		*action = REORDER_BUFFER_CHANGE_DELETE;
	return old_passes || new_passes;
}
