/*-------------------------------------------------------------------------
 *
 * identity.c
 *	  The key by which a client finds the rows of a relation.
 *
 * Called by the change callback for options missing_identity and
 * split_key_updates.  What is found out stays with the relation's plan, in the
 * session's context, until that is built again.
 *
 * "relation" is the one whose changes are decoded, "target" the one that they
 * are announced as.  Bitmaps of columns are offset by
 * FirstLowInvalidHeapAttributeNumber.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "relations/identity.h"

/* The column of "relation" with the name of one of "target". */
static AttrNumber
column_by_name(Relation relation, Relation target, AttrNumber attnum)
{
	Form_pg_attribute att = TupleDescAttr(RelationGetDescr(target), attnum - 1);

	if (relation == target)
		return attnum;
	return get_attnum(RelationGetRelid(relation), NameStr(att->attname));
}

/* Is each column of the target's key sent, and logged with the relation's? */
static bool
key_is_sent_and_logged(const RelationPlan *plan, Relation relation,
					   Relation target)
{
	Bitmapset  *key = relation_identity_columns(target);
	Bitmapset  *logged = relation_identity_columns(relation);
	bool		whole = relation->rd_rel->relreplident == REPLICA_IDENTITY_FULL;
	int			member = -1;

	while ((member = bms_next_member(key, member)) >= 0)
	{
		AttrNumber	attnum = member + FirstLowInvalidHeapAttributeNumber;

		if (!column_is_sent(TupleDescAttr(RelationGetDescr(target), attnum - 1),
							&plan->columns))
			return false;
		attnum = column_by_name(relation, target, attnum);
		if (!whole &&
			!bms_is_member(attnum - FirstLowInvalidHeapAttributeNumber, logged))
			return false;
	}
	return key != NULL;
}

/*
 * identity_is_usable
 *		Can the client find the rows of the relation's UPDATEs and DELETEs by
 *		what it is sent of them?
 *
 * It cannot without a replica identity, if a partition logs other columns than
 * the relation that it is announced as has for its key, or if a part of the
 * key is not sent.
 */
bool
identity_is_usable(RelationPlan *plan, Relation relation, Relation target)
{
	if (!plan->identity_known)
	{
		if (target->rd_rel->relreplident == REPLICA_IDENTITY_FULL)
			plan->identity_usable =
				relation->rd_rel->relreplident == REPLICA_IDENTITY_FULL;
		else
			plan->identity_usable = key_is_sent_and_logged(plan, relation,
														   target);
		plan->identity_known = true;
	}
	return plan->identity_usable;
}

/*
 * identity_require
 *		Acts on an UPDATE or DELETE that carries no key that the client could
 *		use, by option missing_identity: an error, or one warning for each plan.
 */
void
identity_require(PluginState *state, RelationPlan *plan, Relation relation,
				 Relation target, const char *command)
{
	bool		error = state->options.missing_identity == MISSING_IDENTITY_ERROR;

	if (identity_is_usable(plan, relation, target))
		return;
	if (!error && plan->identity_warned)
		return;
	plan->identity_warned = true;
	ereport(error ? ERROR : WARNING,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("%s on relation \"%s.%s\" carries no key",
					command,
					get_namespace_name(RelationGetNamespace(target)),
					RelationGetRelationName(target)),
			 relation == target ?
			 errdetail("There is no replica identity, or it was not logged as the client needs it, or it is not sent.") :
			 errdetail("It comes from partition \"%s.%s\", which has no replica identity, or another one than the relation, or it is not sent.",
					   get_namespace_name(RelationGetNamespace(relation)),
					   RelationGetRelationName(relation)),
			 relation == target ?
			 errhint("Add a primary key, or set REPLICA IDENTITY with ALTER TABLE.") :
			 errhint("Give the partition the replica identity of the relation, with ALTER TABLE.")));
}

/*
 * identity_key_columns
 *		The columns of the relation that make the target's key; NULL if it has
 *		none.
 *
 * That is the replica identity's index; under REPLICA IDENTITY FULL the
 * primary key.  The bitmap belongs to the plan.
 */
Bitmapset *
identity_key_columns(PluginState *state, RelationPlan *plan,
					 Relation relation, Relation target)
{
	Bitmapset  *key;
	int			member = -1;
	MemoryContext old;

	if (plan->key_known)
		return plan->key;

	key = target->rd_rel->relreplident == REPLICA_IDENTITY_FULL ?
		relation_primary_key_columns(target) :
		relation_identity_columns(target);

	old = MemoryContextSwitchTo(state->context);
	while ((member = bms_next_member(key, member)) >= 0)
	{
		AttrNumber	attnum = member + FirstLowInvalidHeapAttributeNumber;

		attnum = column_by_name(relation, target, attnum);
		plan->key = bms_add_member(plan->key,
								   attnum - FirstLowInvalidHeapAttributeNumber);
	}
	MemoryContextSwitchTo(old);
	plan->key_known = true;
	return plan->key;
}
