/*-------------------------------------------------------------------------
 *
 * plan.h
 *	  Relation plans: what is sent of a relation's changes, and how.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PGOUTPUT_EXT_PLAN_H
#define PGOUTPUT_EXT_PLAN_H

#include "plugin.h"
#include "relations/relation_table.h"
#include "values/columns.h"
#include "values/tuple.h"

struct RowFilter;

/*
 * What is sent of a relation's changes.  Built again after an invalidation.
 */
typedef struct RelationPlan
{
	Oid			relid;
	KnownRelation *known;		/* the relation */
	KnownRelation *target;		/* the one that its changes are announced as */

	/* when it was built; stale when one of these has moved on */
	uint64		changes;		/* of the relation ... */
	uint64		generation;		/* ... and of what concerns all */
	uint64		publication_changes;	/* when publications were asked */

	/* what the publications say */
	PublicationActions actions; /* before options narrow them */
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

extern void plans_init(PluginState *state);
extern RelationPlan *plan_build(PluginState *state, Relation relation);
extern void plan_tuple_build(PluginState *state, RelationPlan *plan,
							 Relation relation, Relation target);
extern Relation plan_open_root(const RelationPlan *plan);

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
 * Is a relation a part of the one that its changes are announced as?  On 14, a
 * partition that was detached is still announced as its root, and is none.
 */
static inline bool
plan_is_part(PluginState *state, const RelationPlan *plan, Relation relation)
{
	return plan->announced_as != plan->relid &&
		(relation->rd_rel->relispartition ||
		 state->options.inheritance_root == INHERITANCE_ROOT_ALWAYS);
}

/*
 * The plan of a relation, up to date.  Builds it if need be, which reads
 * catalogs and may raise what the server's pgoutput raises.
 */
static inline RelationPlan *
plan_of_relation(PluginState *state, Relation relation)
{
	Oid			relid = RelationGetRelid(relation);
	KnownRelation *known = state->last_relation;
	RelationPlan *plan;

	if (known == NULL || known->relid != relid)
	{
		known = relation_find(state, relid);
		state->last_relation = known;
	}
	plan = known ? known->plan : NULL;
	if (plan && plan->changes == known->changes &&
		plan->generation == state->generation)
		return plan;
	return plan_build(state, relation);
}

/*
 * The plan of the tuples of a relation, sent as those of "target".  The
 * target may have changed without an invalidation of the relation itself.
 */
static inline TuplePlan *
plan_tuple(PluginState *state, RelationPlan *plan, Relation relation,
		   Relation target)
{
	if (unlikely(plan->tuple == NULL ||
				 plan->tuple->target_changes != plan->target->changes))
		plan_tuple_build(state, plan, relation, target);
	plan->used = true;
	return plan->tuple;
}

#endif							/* PGOUTPUT_EXT_PLAN_H */
