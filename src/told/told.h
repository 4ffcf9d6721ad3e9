/*-------------------------------------------------------------------------
 *
 * told.h
 *	  What the client is told before changes: Begin, Origin, Type, Relation.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PGOUTPUT_EXT_TOLD_H
#define PGOUTPUT_EXT_TOLD_H

#include "relations/plan.h"
#include "stream/transaction.h"

/*
 * Has the client been told all that has to precede a change in "subtxn"?  If
 * not, or if nothing is known, ask tell_begin() and tell_relation().
 */
static inline bool
relation_is_told(PluginState *state, ReorderBufferTXN *subtxn,
				 RelationPlan *plan)
{
	TransactionState *transaction = transaction_of(subtxn);

	if (transaction == NULL || !transaction->begin_sent || state->metadata)
		return false;
	return state->in_streaming ?
		plan->known->told.stream == transaction->stream :
		plan->known->told.told;
}

extern void tell_begin(LogicalDecodingContext *ctx, ReorderBufferTXN *txn);
extern void tell_origin(LogicalDecodingContext *ctx, ReorderBufferTXN *txn,
						XLogRecPtr lsn);
extern void tell_relation(LogicalDecodingContext *ctx,
						  ReorderBufferTXN *subtxn, RelationPlan *plan,
						  Relation relation);
extern void told_stream_committed(PluginState *state, ReorderBufferTXN *txn);
extern void told_stream_aborted(PluginState *state, ReorderBufferTXN *txn);
extern void told_end(PluginState *state, ReorderBufferTXN *txn);

#endif							/* PGOUTPUT_EXT_TOLD_H */
