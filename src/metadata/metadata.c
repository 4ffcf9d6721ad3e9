/*-------------------------------------------------------------------------
 *
 * metadata.c
 *	  The opt-in pgoutput_ext.* Messages: when they are due.
 *
 * Called by told.c and the callbacks in pgoutput_ext.c, inside the transaction
 * that the server decodes in and under its historic snapshot.
 *
 * What the client learns inside a streamed transaction counts when that
 * commits, as with Relations: until then each streamed transaction is told
 * for itself, and after an abort of any part of it again.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "metadata/metadata.h"

/*
 * metadata_init
 *		Prepares a session's metadata, if its options ask for any.
 */
void
metadata_init(PluginState *state)
{
	const PluginOptions *options = &state->options;
	Metadata   *metadata;

	if (!options->relation_metadata && !options->type_metadata &&
		!options->transaction_metadata && !options->publication_metadata)
		return;
	metadata = MemoryContextAllocZero(state->context, sizeof(Metadata));
	metadata->context = AllocSetContextCreate(state->context,
											  "pgoutput_ext metadata",
											  ALLOCSET_DEFAULT_SIZES);
	metadata->told.state = state;
	state->metadata = metadata;
}

/*
 * metadata_forget_stream
 *		What a streamed transaction was told goes with its abort.
 */
void
metadata_forget_stream(TransactionState *transaction)
{
	MetadataTold *told = transaction->metadata;

	if (told == NULL)
		return;
	if (told->types)
		hash_destroy(told->types);
	pfree(told);
	transaction->metadata = NULL;
}

/*
 * metadata_merge_stream
 *		What a streamed transaction was told, the client knows from its commit
 *		on, in place of what it was told while that was streamed.
 */
void
metadata_merge_stream(PluginState *state, TransactionState *transaction)
{
	MetadataTold *stream = transaction ? transaction->metadata : NULL;
	MetadataTold *all;

	if (stream == NULL)
		return;
	all = &state->metadata->told;
	types_told_in_stream(all, stream, true);
	if (stream->publications)
	{
		all->publications = true;
		all->publications_content = stream->publications_content;
		all->publications_checked = 0;
	}
	metadata_forget_stream(transaction);
}

/*
 * metadata_end_stream
 *		A transaction ends.  If it was streamed and neither committed nor
 *		aborted it is prepared: nobody knows what the client knows now.
 */
void
metadata_end_stream(TransactionState *transaction)
{
	MetadataTold *stream = transaction->metadata;
	MetadataTold *all;

	if (stream == NULL)
		return;
	all = &stream->state->metadata->told;
	types_told_in_stream(all, stream, false);
	if (stream->publications)
		all->publications = false;
	metadata_forget_stream(transaction);
}

/*
 * metadata_send_transaction
 *		Sends what is due behind the start of a transaction.
 */
void
metadata_send_transaction(LogicalDecodingContext *ctx, ReorderBufferTXN *txn)
{
	if (plugin_state(ctx)->options.transaction_metadata)
		transaction_frame_send(ctx, txn);
	publications_frame_send(ctx, txn);
}

/*
 * metadata_send_changed
 *		Sends what changed since the client was told of it.
 */
void
metadata_send_changed(LogicalDecodingContext *ctx, ReorderBufferTXN *txn,
					  RelationPlan *plan, bool announced)
{
	publications_frame_send(ctx, txn);
	if (announced && plugin_state(ctx)->options.type_metadata)
		types_send_changed(ctx, txn, plan);
}
