#include "postgres.h"

#include "fmgr.h"
#include "replication/logical.h"
#include "replication/output_plugin.h"

PG_MODULE_MAGIC;

extern PGDLLEXPORT void _PG_output_plugin_init(OutputPluginCallbacks *cb);

static void
begin(LogicalDecodingContext *ctx, ReorderBufferTXN *txn)
{
}

static void
change(LogicalDecodingContext *ctx, ReorderBufferTXN *txn, Relation relation,
	   ReorderBufferChange *change)
{
}

static void
commit(LogicalDecodingContext *ctx, ReorderBufferTXN *txn, XLogRecPtr lsn)
{
}

void
_PG_output_plugin_init(OutputPluginCallbacks *cb)
{
	cb->begin_cb = begin;
	cb->change_cb = change;
	cb->commit_cb = commit;
}
