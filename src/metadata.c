#include "postgres.h"

#include "metadata.h"

void
metadata_transaction(LogicalDecodingContext *ctx, ReorderBufferTXN *txn,
					 TransactionId xid)
{
}

void
metadata_publications(LogicalDecodingContext *ctx, TransactionId xid)
{
}

void
metadata_type(LogicalDecodingContext *ctx, TransactionId xid, Oid type_id)
{
}

void
metadata_relation(LogicalDecodingContext *ctx, TransactionId xid,
				  Relation relation, const ColumnSet *columns,
				  const RelationPlan *plan, Relation root)
{
}
