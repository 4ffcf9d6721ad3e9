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
	ReplOriginId origin;		/* that was seen last, see origin_is_wanted() */
	bool		origin_excluded;	/* by options */
	uint64		stream;			/* tells streams apart; 0: not streamed */
	struct oid_table_hash *announced;	/* relations that the stream was told */
	struct MetadataTold *told;	/* metadata that the stream was told */
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

/*
 * Has the client been told all that has to precede a change in "subtxn"?  If
 * not, or if nothing is known, ask transaction_send_begin() and
 * transaction_announce().
 */
static inline bool
transaction_is_told(PluginState *state, ReorderBufferTXN *subtxn,
					RelationPlan *plan)
{
	TransactionState *transaction = transaction_of(subtxn);

	if (transaction == NULL || !transaction->begin_sent || state->metadata)
		return false;
	return state->in_streaming ?
		plan->known->told.stream == transaction->stream :
		plan->known->told.told;
}

extern TransactionState *transaction_start(LogicalDecodingContext *ctx,
										   ReorderBufferTXN *txn,
										   bool streamed);
extern void transaction_end(PluginState *state, ReorderBufferTXN *txn);
extern void set_canonical_format(void);

extern void transaction_send_begin(LogicalDecodingContext *ctx,
								   ReorderBufferTXN *txn);
extern void transaction_send_origin(LogicalDecodingContext *ctx,
									ReorderBufferTXN *txn, XLogRecPtr lsn);
extern void transaction_announce(LogicalDecodingContext *ctx,
								 ReorderBufferTXN *subtxn,
								 RelationPlan *plan, Relation relation);
extern void stream_committed(PluginState *state, ReorderBufferTXN *txn);
extern void stream_aborted(PluginState *state, ReorderBufferTXN *txn);

extern bool origin_is_wanted(PluginState *state, ReorderBufferTXN *txn,
							 ReplOriginId origin);

#endif							/* PGOUTPUT_EXT_TRANSACTION_H */
