/*-------------------------------------------------------------------------
 *
 * metadata.h
 *	  The opt-in pgoutput_ext.* Messages.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PGOUTPUT_EXT_METADATA_H
#define PGOUTPUT_EXT_METADATA_H

#include "metadata/metadata_frames.h"

extern void metadata_init(PluginState *state);

extern void metadata_send_transaction(LogicalDecodingContext *ctx,
									  ReorderBufferTXN *txn);
extern void metadata_send_changed(LogicalDecodingContext *ctx,
								  ReorderBufferTXN *txn, RelationPlan *plan,
								  bool announced);
extern void metadata_merge_stream(PluginState *state,
								  TransactionState *transaction);
extern void metadata_forget_stream(TransactionState *transaction);
extern void metadata_end_stream(TransactionState *transaction);

/*
 * Each of these does nothing in a session that asked for no metadata.  "txn"
 * is the (sub)transaction whose ID messages carry if it is streamed.
 */

/* Behind Begin, Begin Prepare, a first Stream Start, and their Origin. */
static inline void
metadata_transaction(LogicalDecodingContext *ctx, ReorderBufferTXN *txn)
{
	if (unlikely(plugin_state(ctx)->metadata != NULL))
		metadata_send_transaction(ctx, txn);
}

/* Behind a Type. */
static inline void
metadata_type(LogicalDecodingContext *ctx, ReorderBufferTXN *txn, Oid type_id)
{
	if (unlikely(plugin_state(ctx)->options.type_metadata))
		type_frame_send(ctx, txn, type_id);
}

/*
 * Behind a Relation, with the columns that it has; "root" is the relation that
 * changes of a partition are announced as, NULL if they are its own.
 */
static inline void
metadata_relation(LogicalDecodingContext *ctx, ReorderBufferTXN *txn,
				  Relation relation, const ColumnSet *columns, Relation root)
{
	if (unlikely(plugin_state(ctx)->options.relation_metadata))
		relation_frame_send(ctx, txn, relation, columns, root);
}

/*
 * Before a change of a relation, and before the Relation if that is not
 * announced yet: what changed without a Relation or Type to say so.
 */
static inline void
metadata_changed(LogicalDecodingContext *ctx, ReorderBufferTXN *txn,
				 RelationPlan *plan, bool announced)
{
	if (unlikely(plugin_state(ctx)->metadata != NULL))
		metadata_send_changed(ctx, txn, plan, announced);
}

/* Behind Stream Commit. */
static inline void
metadata_committed(LogicalDecodingContext *ctx, ReorderBufferTXN *txn)
{
	if (unlikely(plugin_state(ctx)->metadata != NULL))
		metadata_merge_stream(plugin_state(ctx), transaction_of(txn));
}

#endif							/* PGOUTPUT_EXT_METADATA_H */
