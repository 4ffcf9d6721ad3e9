/*-------------------------------------------------------------------------
 *
 * quirks.c
 *	  What is done only because the server's pgoutput does it, see quirks.h.
 *
 * Called while plans are built, under the historic snapshot of the change.
 * What is remembered lives in the session's context.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "access/xact.h"
#include "replication/slot.h"
#include "storage/procarray.h"

#include "oid_table.h"
#include "server/quirks.h"

/*
 * Can a transaction abort while the session decodes it, since it is streamed
 * or prepared?
 */
bool
quirk_aborts_matter(PluginState *state)
{
	return state->options.streaming != STREAMING_OFF ||
		state->options.two_phase || MyReplicationSlot->data.two_phase;
}

/*
 * The server's check of the transaction that is being decoded, unless the list
 * of "oid" is at hand: it is if it was made in this generation.
 */
static void
notice_abort_by_list(PluginState *state, struct oid_table_hash **listed,
					 Oid oid, uint64 generation)
{
	OidTableEntry *entry;
	bool		found;

	if (!quirk_aborts_matter(state))
		return;

	if (*listed == NULL)
		*listed = oid_table_create(state->context, OID_TABLE_START, NULL);
	entry = oid_table_lookup(*listed, oid);
	if (entry && entry->number == generation)
		return;

	if (TransactionIdIsValid(CheckXidAlive) &&
		!TransactionIdIsInProgress(CheckXidAlive) &&
		!TransactionIdDidCommit(CheckXidAlive))
		ereport(ERROR,
				(errcode(ERRCODE_TRANSACTION_ROLLBACK),
				 errmsg("transaction aborted during system catalog scan")));

	entry = oid_table_insert(*listed, oid, &found);
	entry->number = generation;
}

void
quirk_notice_abort_by_relation(PluginState *state, Oid relid)
{
	notice_abort_by_list(state, &state->listed_relations, relid,
						 state->relation_map_generation);
}

void
quirk_notice_abort_by_schema(PluginState *state, Oid schema_id)
{
#ifdef HAVE_PUBLICATION_DETAILS
	notice_abort_by_list(state, &state->listed_schemas, schema_id,
						 state->schema_map_generation);
#endif
}

/*
 * quirk_keep_open
 *		Takes a reference to a relation that nobody gives back.
 *
 * It belongs to the resource owner of the transaction that the server decodes
 * in, which frees it when the transaction, or the piece of it that is streamed,
 * has been decoded, in silence since the server ends that by an abort.
 */
void
quirk_keep_open(Relation relation)
{
	RelationIncrementReferenceCount(relation);
}

bool
quirk_list_counts_as_none(Relation relation, int length)
{
	TupleDesc	desc = RelationGetDescr(relation);
	int			count = desc->natts;

#ifdef FULL_LIST_IS_SENT_COLUMNS
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);

		if (att->attisdropped || att->attgenerated)
			count--;
	}
#endif
	return length == count;
}
