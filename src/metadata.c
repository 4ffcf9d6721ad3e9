/*-------------------------------------------------------------------------
 *
 * metadata.c
 *	  The opt-in pgoutput_ext.* Messages: how they are sent, when they are due,
 *	  and the one about transactions.
 *
 * Called by transaction.c and the callbacks in pgoutput_ext.c, inside the
 * transaction that the server decodes in and under its historic snapshot.
 * Frames are made in a context of the session's metadata, which is reset when
 * they have been sent, whatever context the callback runs in.
 *
 * What the client learns inside a streamed transaction counts when that
 * commits, as with Relations: until then each streamed transaction is told
 * for itself, and after an abort of any part of it again.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "access/xact.h"
#include "common/hashfn.h"
#include "utils/guc.h"
#include "utils/memutils.h"

#include "json_write.h"
#include "message.h"
#include "metadata_frame.h"

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
 * frame_scope_begin
 *		Switches to the memory that frames are made in.
 *
 * With "settings", also to settings under which SQL text comes out the same
 * in all sessions.  An error takes both back.
 */
FrameScope
frame_scope_begin(PluginState *state, bool settings)
{
	FrameScope	scope;

	scope.old_context = MemoryContextSwitchTo(state->metadata->context);
	scope.settings_level = 0;
	if (settings)
	{
		scope.settings_level = NewGUCNestLevel();
		set_canonical_format();
		if (strcmp(GetConfigOption("standard_conforming_strings", false, false),
				   "on") != 0)
			(void) set_config_option("standard_conforming_strings", "on",
									 PGC_USERSET, PGC_S_SESSION,
									 GUC_ACTION_SAVE, true, 0, false);
	}
	return scope;
}

void
frame_scope_end(PluginState *state, const FrameScope *scope)
{
	if (scope->settings_level > 0)
		AtEOXact_GUC(true, scope->settings_level);
	MemoryContextSwitchTo(scope->old_context);
	MemoryContextReset(state->metadata->context);
}

/*
 * frame_send
 *		Sends a frame as a transactional Message.
 *
 * Its LSN is that of the record that is being decoded, as the server says.  A
 * change or the transaction's end follows it, so it is never the last write.
 */
void
frame_send(LogicalDecodingContext *ctx, ReorderBufferTXN *txn,
		   const char *prefix, StringInfo content)
{
	OutputPluginPrepareWrite(ctx, false);
	message_message(ctx->out, streamed_xid(plugin_state(ctx), txn), true,
					ctx->write_location, prefix, content->data, content->len);
	OutputPluginWrite(ctx, false);
}

/* Stands for a frame's content when it is compared with a later one. */
uint64
frame_hash(StringInfo content)
{
	return hash_bytes_extended((unsigned char *) content->data, content->len,
							   0);
}

/*
 * told_in_stream
 *		What the streamed transaction that is being sent was told, made if
 *		"make" is set; NULL if there is nothing, or no such transaction.
 */
MetadataTold *
told_in_stream(PluginState *state, ReorderBufferTXN *txn, bool make)
{
	TransactionState *transaction;

	if (!state->in_streaming)
		return NULL;
	transaction = transaction_of(txn);
	if (transaction->told == NULL && make)
	{
		transaction->told = MemoryContextAllocZero(state->context,
												   sizeof(MetadataTold));
		transaction->told->state = state;
	}
	return transaction->told;
}

/*
 * metadata_forget_stream
 *		What a streamed transaction was told goes with its abort.
 */
void
metadata_forget_stream(TransactionState *transaction)
{
	MetadataTold *told = transaction->told;

	if (told == NULL)
		return;
	if (told->types)
		hash_destroy(told->types);
	pfree(told);
	transaction->told = NULL;
}

/*
 * metadata_merge_stream
 *		What a streamed transaction was told, the client knows from its commit
 *		on, in place of what it was told while that was streamed.
 */
void
metadata_merge_stream(PluginState *state, TransactionState *transaction)
{
	MetadataTold *stream = transaction ? transaction->told : NULL;
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
	MetadataTold *stream = transaction->told;
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
 * The 64-bit ID of a transaction.  IDs in use differ from the next one by less
 * than 2^31, so that only one epoch fits.
 */
static uint64
full_xid(TransactionId xid)
{
	FullTransactionId next = ReadNextFullTransactionId();
	uint32		epoch = EpochFromFullTransactionId(next);

	if (xid > XidFromFullTransactionId(next))
		epoch--;
	return (uint64) epoch << 32 | xid;
}

/*
 * metadata_send_transaction
 *		Sends pgoutput_ext.transaction, and pgoutput_ext.publications where
 *		that is due.
 */
void
metadata_send_transaction(LogicalDecodingContext *ctx, ReorderBufferTXN *txn)
{
	PluginState *state = plugin_state(ctx);
	uint64		changes = txn->nentries;
	int			subtransactions = 0;
	bool		spilled = rbtxn_is_serialized(txn);
	StringInfoData content;
	FrameScope	scope;
	dlist_iter	iter;

	if (state->options.transaction_metadata)
	{
		dlist_foreach(iter, &txn->subtxns)
		{
			ReorderBufferTXN *subtxn = dlist_container(ReorderBufferTXN, node,
													   iter.cur);

			subtransactions++;
			changes += subtxn->nentries;
			spilled |= rbtxn_is_serialized(subtxn);
		}

		scope = frame_scope_begin(state, false);
		initStringInfo(&content);
		jw_open(&content, '{');
		jw_integer_member(&content, "xid", full_xid(txn->xid));
		jw_bool_member(&content, "complete", !state->in_streaming);
		jw_integer_member(&content, "changes", changes);
		jw_integer_member(&content, "subtransactions", subtransactions);
		jw_integer_member(&content, "memory_bytes", txn->total_size);
		jw_bool_member(&content, "spilled", spilled);
		jw_string_member(&content, "first_lsn",
						 psprintf("%X/%X", LSN_FORMAT_ARGS(txn->first_lsn)));
		jw_close(&content, '}');
		frame_send(ctx, txn, "pgoutput_ext.transaction", &content);
		frame_scope_end(state, &scope);
	}
	publications_send(ctx, txn);
}

/*
 * metadata_send_changed
 *		Sends what changed since the client was told of it.
 */
void
metadata_send_changed(LogicalDecodingContext *ctx, ReorderBufferTXN *txn,
					  RelationPlan *plan, bool announced)
{
	publications_send(ctx, txn);
	if (announced && plugin_state(ctx)->options.type_metadata)
		types_send_changed(ctx, txn, plan);
}
