/*-------------------------------------------------------------------------
 *
 * metadata.h
 *	  The opt-in pgoutput_ext.* Messages.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PGOUTPUT_EXT_METADATA_H
#define PGOUTPUT_EXT_METADATA_H

#include "plan.h"
#include "plugin.h"

/*
 * Each sends a frame if its option asks for it, and does nothing otherwise.
 * "xid" is what messages carry inside a streamed transaction.
 */
extern void metadata_transaction(LogicalDecodingContext *ctx,
								 ReorderBufferTXN *txn, TransactionId xid);
extern void metadata_publications(LogicalDecodingContext *ctx,
								  TransactionId xid);
extern void metadata_type(LogicalDecodingContext *ctx, TransactionId xid,
						  Oid type_id);
extern void metadata_relation(LogicalDecodingContext *ctx, TransactionId xid,
							  Relation relation, const ColumnSet *columns,
							  const RelationPlan *plan, Relation root);

#endif							/* PGOUTPUT_EXT_METADATA_H */
