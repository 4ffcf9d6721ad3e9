/*-------------------------------------------------------------------------
 *
 * metadata_frames.h
 *	  The metadata frames, one file each.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PGOUTPUT_EXT_METADATA_FRAMES_H
#define PGOUTPUT_EXT_METADATA_FRAMES_H

#include "metadata/metadata_frame.h"
#include "relations/plan.h"

/* metadata_transaction.c */
extern void transaction_frame_send(LogicalDecodingContext *ctx,
								   ReorderBufferTXN *txn);

/* metadata_publication.c */
extern void publications_frame_send(LogicalDecodingContext *ctx,
									ReorderBufferTXN *txn);

/* metadata_relation.c */
extern void relation_frame_send(LogicalDecodingContext *ctx,
								ReorderBufferTXN *txn, Relation relation,
								const ColumnSet *columns, Relation root);

/* metadata_type.c */
extern void type_frame_send(LogicalDecodingContext *ctx, ReorderBufferTXN *txn,
							Oid type_id);
extern void types_told_in_stream(MetadataTold *all, MetadataTold *stream,
								 bool merge);
extern void types_send_changed(LogicalDecodingContext *ctx,
							   ReorderBufferTXN *txn, RelationPlan *plan);

#endif							/* PGOUTPUT_EXT_METADATA_FRAMES_H */
