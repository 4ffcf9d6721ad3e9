/*-------------------------------------------------------------------------
 *
 * told.c
 *	  What the client is told before changes: Begin, Origin, Type, Relation,
 *	  and the metadata frames behind them.
 *
 * Called by the callbacks in pgoutput_ext.c, in the per-change context or the
 * server's per-transaction one.  What streams were told hangs on the state of
 * their transactions, in the session's context.
 *
 * A client learns of a relation once, from Relation and Type messages, and
 * again after the relation changed.  What it learns inside a streamed
 * transaction counts when that commits: until then each streamed transaction
 * is told for itself, and after an abort of any part of it again.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"

#include "metadata/metadata.h"
#include "oid_table.h"
#include "stream/message.h"
#include "told/told.h"

/*
 * tell_origin
 *		Sends Origin behind the message that is being written, if the
 *		transaction has an origin that still exists.
 *
 * The caller has prepared a write and ends it after this.
 */
void
tell_origin(LogicalDecodingContext *ctx, ReorderBufferTXN *txn,
			XLogRecPtr lsn)
{
	char	   *name;

	if (txn->origin_id == InvalidReplOriginId ||
		!replorigin_by_oid(txn->origin_id, true, &name))
		return;
	OutputPluginWrite(ctx, false);
	OutputPluginPrepareWrite(ctx, true);
	message_origin(ctx->out, name, lsn);
	pfree(name);
}

/*
 * tell_begin
 *		Sends Begin, and Origin, unless that has been done.
 *
 * Does nothing for prepared and for streamed transactions, which have told
 * the client already.
 */
void
tell_begin(LogicalDecodingContext *ctx, ReorderBufferTXN *txn)
{
	TransactionState *transaction = transaction_of(txn);

	if (transaction == NULL || transaction->begin_sent)
		return;
	OutputPluginPrepareWrite(ctx, txn->origin_id == InvalidReplOriginId);
	message_begin(ctx->out, txn);
	transaction->begin_sent = true;
	tell_origin(ctx, txn, txn->origin_lsn);
	OutputPluginWrite(ctx, true);
	metadata_transaction(ctx, txn);
}

/* Sends Type for each column of a type that is not built in, then Relation. */
static void
send_relation(LogicalDecodingContext *ctx, ReorderBufferTXN *subtxn,
			  Relation relation, const ColumnSet *columns, Relation root)
{
	TransactionId xid = streamed_xid(plugin_state(ctx), subtxn);
	TupleDesc	desc = RelationGetDescr(relation);

	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);

		if (att->atttypid < FirstGenbkiObjectId ||
			!column_is_sent(att, columns))
			continue;
		OutputPluginPrepareWrite(ctx, false);
		message_type(ctx->out, xid, att->atttypid);
		OutputPluginWrite(ctx, false);
		metadata_type(ctx, subtxn, att->atttypid);
	}

	OutputPluginPrepareWrite(ctx, false);
	message_relation(ctx->out, xid, relation, columns);
	OutputPluginWrite(ctx, false);
	metadata_relation(ctx, subtxn, relation, columns, root);
}

/*
 * Has a streamed transaction been told of a relation?  Its table has those
 * that it was told, with the version that this is good for.
 */
static bool
stream_was_told(TransactionState *transaction, KnownRelation *known)
{
	OidTableEntry *entry;

	if (known->told.stream == transaction->stream)
		return true;
	if (transaction->relations == NULL)
		return false;
	entry = oid_table_lookup(transaction->relations, known->relid);
	if (entry == NULL || entry->number != known->told.version)
		return false;
	known->told.stream = transaction->stream;
	return true;
}

static void
remember_told(PluginState *state, TransactionState *transaction,
			  KnownRelation *known)
{
	OidTableEntry *entry;
	bool		found;

	if (transaction->relations == NULL)
		transaction->relations = oid_table_create(state->context,
												  OID_TABLE_START, NULL);
	entry = oid_table_insert(transaction->relations, known->relid, &found);
	entry->object = &known->told;
	entry->number = known->told.version;
	known->told.stream = transaction->stream;
}

/*
 * tell_relation
 *		Tells the client of a relation, unless it knows.
 *
 * "subtxn" is the (sub)transaction of the change.  If changes are announced
 * as those of another relation, the client is told of that first and then of
 * the relation itself, like pgoutput does.
 */
void
tell_relation(LogicalDecodingContext *ctx, ReorderBufferTXN *subtxn,
			  RelationPlan *plan, Relation relation)
{
	PluginState *state = plugin_state(ctx);
	TransactionState *transaction = NULL;
	bool		announced;

	if (state->in_streaming)
	{
		transaction = transaction_of(subtxn);
		announced = stream_was_told(transaction, plan->known);
	}
	else
		announced = plan->known->told.told;
	metadata_changed(ctx, subtxn, plan, announced);
	if (announced)
		return;

	if (plan->announced_as != plan->relid)
	{
		Relation	root = RelationIdGetRelation(plan->announced_as);

		if (!RelationIsValid(root))
			elog(ERROR, "could not open relation with OID %u",
				 plan->announced_as);
		send_relation(ctx, subtxn, root, &plan->columns, root);
		send_relation(ctx, subtxn, relation, &plan->own_columns, root);
		RelationClose(root);
	}
	else
		send_relation(ctx, subtxn, relation, &plan->columns, NULL);

	if (state->in_streaming)
		remember_told(state, transaction, plan->known);
	else
		plan->known->told.told = true;
}

/*
 * told_stream_committed
 *		What a streamed transaction was told, the client knows from now on.
 *
 * Relations that have changed since are announced again all the same.
 */
void
told_stream_committed(PluginState *state, ReorderBufferTXN *txn)
{
	TransactionState *transaction = transaction_of(txn);
	oid_table_iterator iterator;
	OidTableEntry *entry;

	if (transaction == NULL || transaction->relations == NULL)
		return;
	oid_table_start_iterate(transaction->relations, &iterator);
	while ((entry = oid_table_iterate(transaction->relations, &iterator)) != NULL)
	{
		ToldRelation *told = entry->object;

		if (told->version == entry->number)
			told->told = true;
	}
}

/*
 * told_stream_aborted
 *		The client forgets what a streamed transaction was told when any part
 *		of it aborts.
 */
void
told_stream_aborted(PluginState *state, ReorderBufferTXN *txn)
{
	TransactionState *transaction = transaction_of(txn);

	if (transaction == NULL)
		return;
	if (transaction->relations)
		oid_table_destroy(transaction->relations);
	transaction->relations = NULL;
	if (transaction->metadata)
		metadata_forget_stream(transaction);
	transaction->stream = ++state->stream_count;
}

/*
 * told_end
 *		Ends a transaction, whatever became of it.
 */
void
told_end(PluginState *state, ReorderBufferTXN *txn)
{
	TransactionState *transaction = txn->output_plugin_private;

	if (transaction == NULL)
		return;
	if (transaction->metadata)
		metadata_end_stream(transaction);
	if (transaction->relations)
		oid_table_destroy(transaction->relations);
	transaction_end(state, txn);
}
