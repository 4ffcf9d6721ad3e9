/*-------------------------------------------------------------------------
 *
 * statistics.c
 *	  What a session has done, in the server's log, by option log_statistics.
 *
 * Put in front of the plugin's callbacks and of the writer when a session
 * starts with the option, and not there without it.  A line is logged at the
 * end of a transaction, and one at the end of the session, whichever way that
 * comes: in order (the shutdown callback), by an error (its memory goes) or
 * with the process (a client that has gone).
 *
 * The counts live in the session's context.  By the time that this is reset its
 * children are gone already: what is in them is looked at before.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "replication/logicalproto.h"
#include "replication/slot.h"
#include "storage/ipc.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "stream/statistics.h"

/* What is counted, since the session began. */
typedef struct Counts
{
	uint64		transactions;
	uint64		transactions_sent;
	uint64		changes;
	uint64		changes_sent;
	uint64		changes_filtered;
	uint64		messages;
	uint64		bytes;
	uint64		plans_built;
	uint64		invalidations;
} Counts;

typedef struct Statistics
{
	PluginState *state;
	NameData	slot;
	OutputPluginCallbacks plugin;	/* what was there before */
	LogicalOutputPluginWriterPrepareWrite prepare_write;
	LogicalOutputPluginWriterWrite write;

	int			message_start;	/* in ctx->out */
	bool		change_written; /* since the flag was cleared */
	bool		commit_written;
	Counts		counts;
	Counts		logged;			/* as they were at the last line */
	TimestampTz started;
	TimestampTz logged_at;
	long		relations;		/* known, when a transaction last ended */
	Size		memory;			/* of the session, at that time */
	dlist_node	node;			/* in the list of live sessions */
} Statistics;

/* Sessions of this process that have not ended. */
static dlist_head sessions = DLIST_STATIC_INIT(sessions);

static inline Statistics *
statistics_of(LogicalDecodingContext *ctx)
{
	return plugin_state(ctx)->statistics;
}

/* Looks at what is not counted. */
static void
statistics_look(Statistics *statistics)
{
	PluginState *state = statistics->state;

	statistics->relations = hash_get_num_entries(state->relations);
	statistics->memory = MemoryContextMemAllocated(state->context, true);
}

/* The line, which never goes to the client. */
static void
statistics_log(Statistics *statistics, const char *of, const Counts *since,
			   TimestampTz start, TimestampTz now)
{
	Counts	   *counts = &statistics->counts;

	counts->plans_built = statistics->state->plans_built;
	counts->invalidations = statistics->state->invalidations;
#define COUNT(name) ((unsigned long long) (counts->name - since->name))
	ereport(LOG_SERVER_ONLY,
			(errmsg("pgoutput_ext statistics of slot \"%s\", %s: seconds=%.3f transactions=%llu transactions_sent=%llu changes=%llu changes_sent=%llu changes_filtered=%llu messages=%llu bytes=%llu plans_built=%llu invalidations=%llu relations=%ld memory=%zu",
					NameStr(statistics->slot), of,
					(double) (now - start) / USECS_PER_SEC,
					COUNT(transactions), COUNT(transactions_sent),
					COUNT(changes), COUNT(changes_sent),
					COUNT(changes_filtered), COUNT(messages), COUNT(bytes),
					COUNT(plans_built), COUNT(invalidations),
					statistics->relations, statistics->memory),
			 errhidestmt(true), errhidecontext(true)));
#undef COUNT
}

/* Ends a session. */
static void
statistics_end(Statistics *statistics)
{
	const Counts none = {0};

	dlist_delete(&statistics->node);
	statistics->state->statistics = NULL;
	statistics_log(statistics, "session", &none, statistics->started,
				   GetCurrentTimestamp());
}

/* The session's memory goes: after an error, if it has not ended before. */
static void
statistics_reset(void *arg)
{
	PluginState *state = arg;

	if (state->statistics)
		statistics_end(state->statistics);
}

/* The process ends, with what it decodes. */
static void
statistics_exit(int code, Datum arg)
{
	while (!dlist_is_empty(&sessions))
	{
		Statistics *statistics = dlist_head_element(Statistics, node,
													&sessions);

		statistics_look(statistics);
		statistics_end(statistics);
	}
}

static void
statistics_shutdown(LogicalDecodingContext *ctx)
{
	Statistics *statistics = statistics_of(ctx);

	statistics->plugin.shutdown_cb(ctx);
	statistics_look(statistics);
	statistics_end(statistics);
}

/* A transaction has ended: logs a line if it is time. */
static void
transaction_ended(Statistics *statistics)
{
	TimestampTz now = GetCurrentTimestamp();

	statistics_look(statistics);
	if (!TimestampDifferenceExceeds(statistics->logged_at, now,
									statistics->state->options.log_statistics))
		return;
	statistics_log(statistics, "interval", &statistics->logged,
				   statistics->logged_at, now);
	statistics->logged = statistics->counts;
	statistics->logged_at = now;
}

/* ---- the writer ---- */

static void
statistics_prepare_write(LogicalDecodingContext *ctx, XLogRecPtr lsn,
						 TransactionId xid, bool last_write)
{
	Statistics *statistics = statistics_of(ctx);

	statistics->prepare_write(ctx, lsn, xid, last_write);
	statistics->message_start = ctx->out->len;
}

static void
statistics_write(LogicalDecodingContext *ctx, XLogRecPtr lsn,
				 TransactionId xid, bool last_write)
{
	Statistics *statistics = statistics_of(ctx);

	statistics->counts.messages++;
	statistics->counts.bytes += ctx->out->len - statistics->message_start;
	switch (ctx->out->data[statistics->message_start])
	{
		case LOGICAL_REP_MSG_INSERT:
		case LOGICAL_REP_MSG_UPDATE:
		case LOGICAL_REP_MSG_DELETE:
		case LOGICAL_REP_MSG_TRUNCATE:
			statistics->change_written = true;
			break;
		case LOGICAL_REP_MSG_COMMIT:
			statistics->commit_written = true;
			break;
		default:
			break;
	}
	statistics->write(ctx, lsn, xid, last_write);

	/* the coalescing writer may just have taken itself away */
	if (ctx->write != statistics_write)
	{
		statistics->write = ctx->write;
		ctx->write = statistics_write;
	}
}

/* ---- the callbacks ---- */

static void
count_change(Statistics *statistics, bool sent)
{
	if (sent)
		statistics->counts.changes_sent++;
	else
		statistics->counts.changes_filtered++;
}

static void
statistics_change(LogicalDecodingContext *ctx, ReorderBufferTXN *txn,
				  Relation relation, ReorderBufferChange *change)
{
	Statistics *statistics = statistics_of(ctx);

	statistics->counts.changes++;
	statistics->change_written = false;
	statistics->plugin.change_cb(ctx, txn, relation, change);
	count_change(statistics, statistics->change_written);
}

static void
statistics_truncate(LogicalDecodingContext *ctx, ReorderBufferTXN *txn,
					int nrelations, Relation relations[],
					ReorderBufferChange *change)
{
	Statistics *statistics = statistics_of(ctx);

	statistics->counts.changes++;
	statistics->change_written = false;
	statistics->plugin.truncate_cb(ctx, txn, nrelations, relations, change);
	count_change(statistics, statistics->change_written);
}

static void
statistics_message(LogicalDecodingContext *ctx, ReorderBufferTXN *txn,
				   XLogRecPtr lsn, bool transactional, const char *prefix,
				   Size length, const char *content)
{
	Statistics *statistics = statistics_of(ctx);
	uint64		messages = statistics->counts.messages;

	statistics->counts.changes++;
	statistics->plugin.message_cb(ctx, txn, lsn, transactional, prefix,
								  length, content);
	count_change(statistics, statistics->counts.messages > messages);
}

static void
statistics_commit(LogicalDecodingContext *ctx, ReorderBufferTXN *txn,
				  XLogRecPtr commit_lsn)
{
	Statistics *statistics = statistics_of(ctx);

	statistics->commit_written = false;
	statistics->plugin.commit_cb(ctx, txn, commit_lsn);
	statistics->counts.transactions++;
	statistics->counts.transactions_sent += statistics->commit_written;
	transaction_ended(statistics);
}

/* A transaction that is sent in any case has been. */
static void
count_sent(Statistics *statistics)
{
	statistics->counts.transactions++;
	statistics->counts.transactions_sent++;
	transaction_ended(statistics);
}

static void
statistics_stream_commit(LogicalDecodingContext *ctx, ReorderBufferTXN *txn,
						 XLogRecPtr commit_lsn)
{
	statistics_of(ctx)->plugin.stream_commit_cb(ctx, txn, commit_lsn);
	count_sent(statistics_of(ctx));
}

#ifdef HAVE_TWO_PHASE_OPTION
static void
statistics_prepare(LogicalDecodingContext *ctx, ReorderBufferTXN *txn,
				   XLogRecPtr prepare_lsn)
{
	statistics_of(ctx)->plugin.prepare_cb(ctx, txn, prepare_lsn);
	count_sent(statistics_of(ctx));
}

static void
statistics_stream_prepare(LogicalDecodingContext *ctx, ReorderBufferTXN *txn,
						  XLogRecPtr prepare_lsn)
{
	statistics_of(ctx)->plugin.stream_prepare_cb(ctx, txn, prepare_lsn);
	count_sent(statistics_of(ctx));
}
#endif

/* What has to be done once in a process: it cannot be taken back. */
static void
register_exit(void)
{
	static bool registered = false;

	if (registered)
		return;
	registered = true;
	before_shmem_exit(statistics_exit, (Datum) 0);
}

/*
 * statistics_install
 *		Has a session count and log what it does, if it was asked to.
 *
 * To be called at the end of the startup callback, behind writer_install().
 */
void
statistics_install(LogicalDecodingContext *ctx)
{
	PluginState *state = plugin_state(ctx);
	Statistics *statistics;
	MemoryContextCallback *callback;

	if (state->options.log_statistics < 0)
		return;

	statistics = MemoryContextAllocZero(state->context, sizeof(Statistics));
	statistics->state = state;
	statistics->slot = MyReplicationSlot->data.name;
	statistics->plugin = ctx->callbacks;
	statistics->prepare_write = ctx->prepare_write;
	statistics->write = ctx->write;
	statistics->started = statistics->logged_at = GetCurrentTimestamp();
	statistics_look(statistics);

	ctx->prepare_write = statistics_prepare_write;
	ctx->write = statistics_write;
	ctx->callbacks.change_cb = statistics_change;
	ctx->callbacks.truncate_cb = statistics_truncate;
	ctx->callbacks.message_cb = statistics_message;
	ctx->callbacks.commit_cb = statistics_commit;
	ctx->callbacks.stream_change_cb = statistics_change;
	ctx->callbacks.stream_truncate_cb = statistics_truncate;
	ctx->callbacks.stream_message_cb = statistics_message;
	ctx->callbacks.stream_commit_cb = statistics_stream_commit;
#ifdef HAVE_TWO_PHASE_OPTION
	ctx->callbacks.prepare_cb = statistics_prepare;
	ctx->callbacks.stream_prepare_cb = statistics_stream_prepare;
#endif
	ctx->callbacks.shutdown_cb = statistics_shutdown;

	callback = MemoryContextAlloc(state->context, sizeof(*callback));
	callback->func = statistics_reset;
	callback->arg = state;
	MemoryContextRegisterResetCallback(state->context, callback);
	register_exit();
	dlist_push_head(&sessions, &statistics->node);
	state->statistics = statistics;
}
