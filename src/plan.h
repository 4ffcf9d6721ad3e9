/*-------------------------------------------------------------------------
 *
 * plan.h
 *	  Relation plans: what is sent of a relation's changes, and how.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PGOUTPUT_EXT_PLAN_H
#define PGOUTPUT_EXT_PLAN_H

#include "message.h"
#include "plugin.h"
#include "tuple.h"

struct RowFilter;

/*
 * A relation as the session knows it.  What the client was told has to stay
 * while the session lasts; the rest is built again after an invalidation.
 */
typedef struct RelationPlan
{
	Oid			relid;

	bool		valid;			/* not invalidated by itself ... */
	uint64		generation;		/* ... nor with all others */
	uint64		build;			/* tells one building of the plan from another */

	/* what the client was told */
	bool		announced;
	uint64		announced_stream;	/* stream that was told last */
	uint64		types_checked;	/* for the metadata: when, see metadata_type.c */
	uint64		types_stream;	/* ... and for which stream, 0 if none */

	/* what the publications say */
	bool		is_root;		/* partitions are announced as it */
	bool		inserts;
	bool		updates;
	bool		deletes;
	bool		truncates;
	bool		identity_warned;
	Oid			published_as;	/* whose filters and columns hold */
	Oid			announced_as;	/* whose name the client sees */
	ColumnSet	columns;		/* of announced_as */
	ColumnSet	own_columns;	/* of the relation, where announced beside */
	struct RowFilter *filter;	/* NULL if there is none */
	Bitmapset  *key;			/* see identity.c */
	bool		key_known;
	bool		identity_usable;
	bool		identity_known;

	/* how tuples are written; NULL until needed, and after eviction */
	TuplePlan  *tuple;
	bool		used;			/* since the evicting hand came by */
	dlist_node	node;			/* in the list of those with a tuple plan */
} RelationPlan;

extern void plans_init(LogicalDecodingContext *ctx);
extern RelationPlan *plan_build(PluginState *state, Relation relation);
extern void plan_tuple_build(PluginState *state, RelationPlan *plan,
							 Relation relation, Relation target);
extern Relation plan_open_root(const RelationPlan *plan);
extern RelationPlan *plan_find(PluginState *state, Oid relid);

/*
 * The relation that a plan's changes are announced as.  The caller closes it
 * unless it is the relation itself.
 */
static inline Relation
plan_open_target(const RelationPlan *plan, Relation relation)
{
	return likely(plan->announced_as == plan->relid) ? relation :
		plan_open_root(plan);
}

/*
 * The plan of a relation, up to date.  Builds it if need be, which reads
 * catalogs and may raise what the server's pgoutput raises.
 */
static inline RelationPlan *
plan_of_relation(PluginState *state, Relation relation)
{
	Oid			relid = RelationGetRelid(relation);
	RelationPlan *plan = state->last_relation;

	if (plan == NULL || plan->relid != relid)
	{
		plan = plan_find(state, relid);
		state->last_relation = plan;
	}
	if (plan && plan->valid && plan->generation == state->generation)
		return plan;
	return plan_build(state, relation);
}

/*
 * The plan of the tuples of a relation, sent as those of "target".  The
 * target's descriptor may have been replaced without an invalidation of the
 * relation itself.
 */
static inline TuplePlan *
plan_tuple(PluginState *state, RelationPlan *plan, Relation relation,
		   Relation target)
{
	if (unlikely(plan->tuple == NULL ||
				 plan->tuple->target_desc != RelationGetDescr(target)))
		plan_tuple_build(state, plan, relation, target);
	plan->used = true;
	return plan->tuple;
}

#endif							/* PGOUTPUT_EXT_PLAN_H */
