/*-------------------------------------------------------------------------
 *
 * transaction.h
 *	  Transactions as the client sees them: what it was told in each.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PGOUTPUT_EXT_TRANSACTION_H
#define PGOUTPUT_EXT_TRANSACTION_H

#include "plan.h"
#include "plugin.h"

/* What hangs on a toplevel transaction's output_plugin_private. */
typedef struct TransactionState
{
	bool		begin_sent;		/* or what stands for Begin */
	bool		origin_excluded;	/* by options, as a whole */
	uint64		stream;			/* tells streams apart; 0: not streamed */
	HTAB	   *announced;		/* relations that the stream was told */
	struct MetadataTold *told;	/* metadata that the stream was told */
} TransactionState;

/* Transaction ID that a message of a change carries, if it is streamed. */
static inline TransactionId
streamed_xid(PluginState *state, ReorderBufferTXN *txn)
{
	return state->in_streaming ? txn->xid : InvalidTransactionId;
}

extern TransactionState *transaction_start(LogicalDecodingContext *ctx,
										   ReorderBufferTXN *txn,
										   bool streamed);
extern void transaction_end(ReorderBufferTXN *txn);
extern TransactionState *transaction_of(ReorderBufferTXN *txn);

extern void transaction_send_begin(LogicalDecodingContext *ctx,
								   ReorderBufferTXN *txn);
extern void transaction_send_origin(LogicalDecodingContext *ctx,
									ReorderBufferTXN *txn, XLogRecPtr lsn);
extern void transaction_announce(LogicalDecodingContext *ctx,
								 ReorderBufferTXN *subtxn,
								 RelationPlan *plan, Relation relation);
extern void stream_committed(PluginState *state, ReorderBufferTXN *txn);
extern void stream_aborted(PluginState *state, ReorderBufferTXN *txn);

extern bool origin_is_sent(PluginState *state, ReplOriginId origin);

#endif							/* PGOUTPUT_EXT_TRANSACTION_H */
