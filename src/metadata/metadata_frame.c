/*-------------------------------------------------------------------------
 *
 * metadata_frame.c
 *	  What the metadata frames share: how they are sent.
 *
 * Called by those who fill frames, inside the transaction that the server
 * decodes in.  Frames are made in a context of the session's metadata, which is
 * reset when they have been sent, whatever context the callback runs in.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "utils/guc.h"
#include "utils/memutils.h"

#include "metadata/metadata_frame.h"
#include "values/canonical.h"

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
	if (transaction->metadata == NULL && make)
	{
		transaction->metadata = MemoryContextAllocZero(state->context,
													   sizeof(MetadataTold));
		transaction->metadata->state = state;
	}
	return transaction->metadata;
}
