/*
 * bench_null.c
 *		The benchmark's library: an output plugin that emits nothing, and SQL
 *		functions that decode a slot without keeping what its plugin writes.
 *
 * bench/run builds it and is its only user.  The plugin's callbacks run in the
 * decoding context; the functions in a per-query context.
 *
 * The null plugin shows what decoding costs with any plugin: reading the WAL,
 * the reorder buffer, opening each change's relation.  Its one option,
 * "streaming", has large transactions streamed as pgoutput's does.
 *
 * bench_decode() never confirms what it decoded, so one slot can be decoded
 * as often as wanted, each time from the same WAL.
 */
#include "postgres.h"

#include <time.h>

#include "access/xlogutils.h"
#include "catalog/pg_type.h"
#include "common/cryptohash.h"
#include "common/sha2.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/parsenodes.h"
#include "replication/decode.h"
#include "replication/logical.h"
#include "replication/output_plugin.h"
#include "replication/slot.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/pg_lsn.h"
#include "utils/resowner.h"

/* The Makefile looks in the server's header which form it has. */
#ifdef ACQUIRE_CHECKS_INVALID
#define acquire_slot(name) ReplicationSlotAcquire(name, true, true)
#else
#define acquire_slot(name) ReplicationSlotAcquire(name, true)
#endif

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(bench_decode);

extern PGDLLEXPORT void _PG_output_plugin_init(OutputPluginCallbacks *cb);

/* What one decoding gave.  The write callback has no other way to it. */
typedef struct Tally
{
	uint64		messages;
	uint64		bytes;
	pg_cryptohash_ctx *digest;	/* NULL unless one is wanted */
} Tally;

/*
 * The plugin
 */

static void
null_startup(LogicalDecodingContext *ctx, OutputPluginOptions *opt, bool is_init)
{
	ListCell   *lc;
	bool		streaming = false;

	opt->output_type = OUTPUT_PLUGIN_BINARY_OUTPUT;
	foreach(lc, ctx->output_plugin_options)
	{
		DefElem    *elem = (DefElem *) lfirst(lc);

		if (strcmp(elem->defname, "streaming") == 0)
			streaming = true;
	}
	ctx->streaming &= streaming;
	ctx->twophase = false;
}

static void
null_txn(LogicalDecodingContext *ctx, ReorderBufferTXN *txn)
{
}

static void
null_txn_lsn(LogicalDecodingContext *ctx, ReorderBufferTXN *txn, XLogRecPtr lsn)
{
}

static void
null_change(LogicalDecodingContext *ctx, ReorderBufferTXN *txn,
			Relation relation, ReorderBufferChange *change)
{
}

static void
null_truncate(LogicalDecodingContext *ctx, ReorderBufferTXN *txn,
			  int nrelations, Relation relations[], ReorderBufferChange *change)
{
}

void
_PG_output_plugin_init(OutputPluginCallbacks *cb)
{
	cb->startup_cb = null_startup;
	cb->begin_cb = null_txn;
	cb->change_cb = null_change;
	cb->truncate_cb = null_truncate;
	cb->commit_cb = null_txn_lsn;
	cb->stream_start_cb = null_txn;
	cb->stream_stop_cb = null_txn;
	cb->stream_abort_cb = null_txn_lsn;
	cb->stream_commit_cb = null_txn_lsn;
	cb->stream_change_cb = null_change;
	cb->stream_truncate_cb = null_truncate;
}

/*
 * The decoder
 */

static void
prepare_write(LogicalDecodingContext *ctx, XLogRecPtr lsn, TransactionId xid,
			  bool last_write)
{
	resetStringInfo(ctx->out);
}

static void
hash(Tally *tally, const void *data, size_t len)
{
	if (pg_cryptohash_update(tally->digest, (const uint8 *) data, len) < 0)
		elog(ERROR, "could not update the digest");
}

/*
 * Count a message and forget it.  Its length is part of the digest, so that
 * the same bytes cut into other messages do not look equal.
 */
static void
discard_write(LogicalDecodingContext *ctx, XLogRecPtr lsn, TransactionId xid,
			  bool last_write)
{
	Tally	   *tally = (Tally *) ctx->output_writer_private;

	tally->messages++;
	tally->bytes += ctx->out->len;
	if (tally->digest)
	{
		hash(tally, &lsn, sizeof(lsn));
		hash(tally, &xid, sizeof(xid));
		hash(tally, &ctx->out->len, sizeof(ctx->out->len));
		hash(tally, ctx->out->data, ctx->out->len);
	}
}

/* CPU of this process, user and system, in nanoseconds. */
static int64
cpu_now(void)
{
	struct timespec ts;

	if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts) != 0)
		elog(ERROR, "could not read the CPU clock: %m");
	return (int64) ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static int64
memory_now(void)
{
	return (int64) MemoryContextMemAllocated(TopMemoryContext, true);
}

/* Names and values in turn, as the server's own functions take them. */
static List *
options_from_array(ArrayType *array)
{
	Datum	   *elems;
	bool	   *nulls;
	int			nelems;
	List	   *options = NIL;

	deconstruct_array(array, TEXTOID, -1, false, TYPALIGN_INT,
					  &elems, &nulls, &nelems);
	if (nelems % 2 != 0)
		elog(ERROR, "options come in pairs");
	for (int i = 0; i < nelems; i += 2)
		options = lappend(options,
						  makeDefElem(TextDatumGetCString(elems[i]),
									  (Node *) makeString(TextDatumGetCString(elems[i + 1])),
									  -1));
	return options;
}

/*
 * Decode the acquired slot up to an LSN.  The context is left open so that
 * its memory can be measured.
 */
static LogicalDecodingContext *
decode(XLogRecPtr upto, List *options, Tally *tally)
{
	LogicalDecodingContext *ctx;

	ctx = CreateDecodingContext(InvalidXLogRecPtr, options, false,
								XL_ROUTINE(.page_read = read_local_xlog_page,
										   .segment_open = wal_segment_open,
										   .segment_close = wal_segment_close),
								prepare_write, discard_write, NULL);
	ctx->output_writer_private = tally;
	XLogBeginRead(ctx->reader, MyReplicationSlot->data.restart_lsn);
	InvalidateSystemCaches();

	while (ctx->reader->EndRecPtr < upto)
	{
		char	   *message = NULL;
		XLogRecord *record = XLogReadRecord(ctx->reader, &message);

		if (message)
			elog(ERROR, "could not read the WAL: %s", message);
		if (record != NULL)
			LogicalDecodingProcessRecord(ctx, ctx->reader);
		CHECK_FOR_INTERRUPTS();
	}
	return ctx;
}

/*
 * bench_decode(slot name, upto pg_lsn, options text[], digest bool) returns text
 *
 * Decodes the slot up to that LSN, discards the messages and leaves the slot
 * where it was.  Returns "name=value" pairs: cpu (ns), messages, bytes, memory
 * (bytes that the process's memory contexts grew by, the decoding context
 * still open), left (the same after it is gone) and, if asked for, the SHA-256
 * of each message's lsn, xid, length and data.
 */
Datum
bench_decode(PG_FUNCTION_ARGS)
{
	Name		name = PG_GETARG_NAME(0);
	XLogRecPtr	upto = PG_GETARG_LSN(1);
	bool		want_digest = PG_GETARG_BOOL(3);
	ResourceOwner owner = CurrentResourceOwner;
	Tally		tally = {0};
	StringInfoData result;
	int64		memory,
				open,
				cpu;

	CheckSlotPermissions();
	if (want_digest)
	{
		tally.digest = pg_cryptohash_create(PG_SHA256);
		if (!tally.digest || pg_cryptohash_init(tally.digest) < 0)
			elog(ERROR, "could not start a digest");
	}
	acquire_slot(NameStr(*name));

	PG_TRY();
	{
		LogicalDecodingContext *ctx;
		List	   *options = options_from_array(PG_GETARG_ARRAYTYPE_P(2));

		memory = memory_now();
		cpu = cpu_now();
		ctx = decode(upto, options, &tally);
		cpu = cpu_now() - cpu;
		CurrentResourceOwner = owner;
		open = memory_now() - memory;
		FreeDecodingContext(ctx);
		ReplicationSlotRelease();
		InvalidateSystemCaches();
	}
	PG_CATCH();
	{
		InvalidateSystemCaches();
		PG_RE_THROW();
	}
	PG_END_TRY();

	initStringInfo(&result);
	appendStringInfo(&result, "cpu=" INT64_FORMAT " messages=" UINT64_FORMAT
					 " bytes=" UINT64_FORMAT " memory=" INT64_FORMAT
					 " left=" INT64_FORMAT,
					 cpu, tally.messages, tally.bytes, open,
					 memory_now() - memory);
	if (want_digest)
	{
		uint8		sum[PG_SHA256_DIGEST_LENGTH];

		if (pg_cryptohash_final(tally.digest, sum, sizeof(sum)) < 0)
			elog(ERROR, "could not finish the digest");
		pg_cryptohash_free(tally.digest);
		appendStringInfoString(&result, " digest=");
		for (size_t i = 0; i < sizeof(sum); i++)
			appendStringInfo(&result, "%02x", sum[i]);
	}
	PG_RETURN_TEXT_P(cstring_to_text_with_len(result.data, result.len));
}
