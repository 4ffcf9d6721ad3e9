/*-------------------------------------------------------------------------
 *
 * metadata_transaction.c
 *	  The frame pgoutput_ext.transaction.
 *
 * Called by metadata.c behind the start of each transaction; its content is
 * allocated in the context of metadata frames.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "access/xact.h"

#include "metadata/json_write.h"
#include "metadata/metadata_frames.h"

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
 * transaction_frame_send
 *		Sends pgoutput_ext.transaction.
 */
void
transaction_frame_send(LogicalDecodingContext *ctx, ReorderBufferTXN *txn)
{
	PluginState *state = plugin_state(ctx);
	uint64		changes = txn->nentries;
	int			subtransactions = 0;
	bool		spilled = rbtxn_is_serialized(txn);
	StringInfoData content;
	FrameScope	scope;
	dlist_iter	iter;

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
