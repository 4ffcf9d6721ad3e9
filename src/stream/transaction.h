/*-------------------------------------------------------------------------
 *
 * transaction.h
 *	  The state of a transaction that is being decoded.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PGOUTPUT_EXT_TRANSACTION_H
#define PGOUTPUT_EXT_TRANSACTION_H

#include "plugin.h"

/* What hangs on a toplevel transaction's output_plugin_private. */
typedef struct TransactionState
{
	bool		begin_sent;		/* or what stands for Begin */
	ReplOriginId origin;		/* that was seen last, see origin_is_wanted() */
	bool		origin_excluded;	/* by options */
	uint64		stream;			/* tells streams apart; 0: not streamed */
	struct oid_table_hash *relations;	/* that the stream was told */
	struct MetadataTold *metadata;	/* that the stream was told */
} TransactionState;

/* Transaction ID that a message of a change carries, if it is streamed. */
static inline TransactionId
streamed_xid(PluginState *state, ReorderBufferTXN *txn)
{
	return state->in_streaming ? txn->xid : InvalidTransactionId;
}

/* The state of a toplevel transaction, of which "txn" may be a part. */
static inline TransactionState *
transaction_of(ReorderBufferTXN *txn)
{
	return rbtxn_get_toptxn(txn)->output_plugin_private;
}

extern TransactionState *transaction_start(LogicalDecodingContext *ctx,
										   ReorderBufferTXN *txn,
										   bool streamed);
extern void transaction_end(PluginState *state, ReorderBufferTXN *txn);
extern bool progress_is_due(PluginState *state, ReorderBufferTXN *txn);
extern bool origin_is_wanted(PluginState *state, ReorderBufferTXN *txn,
							 ReplOriginId origin);
extern ReplOriginId transaction_message_origin(PluginState *state,
											   ReorderBufferTXN *txn);

#endif							/* PGOUTPUT_EXT_TRANSACTION_H */
