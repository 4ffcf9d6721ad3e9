/*-------------------------------------------------------------------------
 *
 * writer.c
 *	  The coalescing writer in front of the walsender's own.
 *
 * The walsender's write callback reads the clock and calls send() for every
 * message, which on narrow rows is half of its time.  The one here appends
 * messages to the connection's buffer, and hands to the walsender's only
 *
 *	- the last message of a transaction, of a streamed block, and any message
 *	  outside of a transaction,
 *	- the one that fills WRITER_SIZE_LIMIT,
 *	- the first one WRITER_TIME_LIMIT or longer after it was last called,
 *
 * which then sends all there is, waits for a slow client, reads replies and
 * looks after timeouts as it does for each message without us.  It returns
 * with an empty buffer, so the buffer is bounded by WRITER_SIZE_LIMIT and one
 * message.  Everything else that the walsender sends goes through the same
 * buffer: the order of messages cannot change.
 *
 * No message waits while the walsender sleeps for WAL: it does so between two
 * records, never inside a transaction, and flushes the buffer before.  In a
 * transaction with a long gap between two published changes, the progress
 * callback sends what waits.  Only where decoding itself stops inside a
 * transaction, for a lock on a system catalog, can a few of its messages wait:
 * the client could not finish the transaction with them either.
 *
 * The send time in the header of an appended message is read from a coarse
 * clock, a few milliseconds behind at most and never before the send time of
 * the message ahead.
 *
 * Called by the output plugin's startup callback (writer_install), then by the
 * server through ctx->write and ctx->update_progress, in whatever memory
 * context the plugin writes in: nothing is allocated there.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <time.h>

#include "miscadmin.h"
#include "port/pg_bswap.h"
#include "replication/logicalproto.h"
#include "replication/walsender.h"
#include "storage/ipc.h"
#include "tcop/tcopprot.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "plugin.h"
#include "stream/writer.h"

/*
 * libpq.h drags in the headers of the libraries that the server was built
 * with, which need not be installed here.  They matter only for struct Port,
 * which nothing here looks into.
 */
#undef ENABLE_GSS
#undef USE_OPENSSL
#include "libpq/libpq.h"

/* Bytes in the buffer from which on it is sent */
#define WRITER_SIZE_LIMIT	(32 * 1024)

/* Microseconds after which the walsender's own writer must be called again */
#define WRITER_TIME_LIMIT	(10 * 1000)

/*
 * The header that a walsender prepares: 'w', start of the data and end of WAL
 * (both the same LSN, or zero), room for the send time.
 */
#define HEADER_LSN_OFFSET	1
#define HEADER_END_OFFSET	(HEADER_LSN_OFFSET + sizeof(uint64))
#define HEADER_TIME_OFFSET	(HEADER_END_OFFSET + sizeof(uint64))
#define HEADER_SIZE			(HEADER_TIME_OFFSET + sizeof(uint64))

/* What a CopyData message adds to its content: type and length */
#define COPY_DATA_OVERHEAD	(sizeof(char) + sizeof(uint32))

typedef struct Writer
{
	LogicalOutputPluginWriterWrite write;	/* what was there before */
	LogicalOutputPluginWriterUpdateProgress update_progress;
	bool		checked;		/* is it known to be a walsender's? */
	Size		buffered;		/* bytes appended since "write" was called */
	TimestampTz called;			/* coarse time when "write" returned last */
	TimestampTz send_time;		/* in the header of the last message */
} Writer;

static void writer_write(LogicalDecodingContext *ctx, XLogRecPtr lsn,
						 TransactionId xid, bool last_write);
static void writer_update_progress(COMPAT_PROGRESS_ARGS);

static inline Writer *
writer_of(LogicalDecodingContext *ctx)
{
	return plugin_state(ctx)->writer;
}

/*
 * The time now, at the cost of a memory access where the system has such a
 * clock: behind by up to a timer tick (1 to 10 ms).
 */
static inline TimestampTz
coarse_time(void)
{
#ifdef CLOCK_REALTIME_COARSE
	struct timespec now;

	if (clock_gettime(CLOCK_REALTIME_COARSE, &now) == 0)
		return ((TimestampTz) now.tv_sec -
				(POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * SECS_PER_DAY) * USECS_PER_SEC +
			now.tv_nsec / 1000;
#endif
	return GetCurrentTimestamp();
}

static inline uint64
read_uint64(const char *from)
{
	uint64		value;

	memcpy(&value, from, sizeof(value));
	return pg_ntoh64(value);
}

static inline void
write_uint64(char *to, uint64 value)
{
	value = pg_hton64(value);
	memcpy(to, &value, sizeof(value));
}

/*
 * Put the coalescing writer in front of the writer of "ctx", if "coalesce" and
 * this process serves a replication connection.  To be called when the session
 * has its state, and not for a context that only creates a slot.  Allocates in
 * ctx->context.
 *
 * SQL functions run over replication connections too, and who else made a
 * context shows only in what it prepares: the first write decides whether we
 * stay (see is_walsender).
 */
void
writer_install(LogicalDecodingContext *ctx, bool coalesce)
{
	Writer	   *writer;

	if (!coalesce || !am_walsender || ctx->write == NULL)
		return;

	writer = MemoryContextAllocZero(ctx->context, sizeof(Writer));
	writer->write = ctx->write;
	writer->update_progress = ctx->update_progress;
	plugin_state(ctx)->writer = writer;

	ctx->write = writer_write;
	if (ctx->update_progress != NULL)
		ctx->update_progress = writer_update_progress;
}

static void
writer_remove(LogicalDecodingContext *ctx, Writer *writer)
{
	ctx->write = writer->write;
	ctx->update_progress = writer->update_progress;
}

/*
 * Has the message in ctx->out the header of a walsender's message?  A SQL
 * function keeps its state in output_writer_private and prepares no header.
 */
static bool
is_walsender(LogicalDecodingContext *ctx, XLogRecPtr lsn, bool last_write)
{
	const char *header = ctx->out->data;
	XLogRecPtr	expected = last_write ? lsn : InvalidXLogRecPtr;

	return ctx->output_writer_private == NULL &&
		ctx->out->len > HEADER_SIZE &&
		header[0] == 'w' &&
		read_uint64(header + HEADER_LSN_OFFSET) == expected &&
		read_uint64(header + HEADER_END_OFFSET) == expected &&
		read_uint64(header + HEADER_TIME_OFFSET) == 0;
}

/*
 * Should the message in ctx->out be sent now whatever its size?
 *
 * A message without a transaction is a non-transactional one of
 * pg_logical_emit_message.  The end of a streamed block is not the end of a
 * transaction to the server.
 */
static inline bool
is_end(LogicalDecodingContext *ctx, TransactionId xid)
{
	return ctx->end_xact ||
		!TransactionIdIsValid(xid) ||
		ctx->out->data[HEADER_SIZE] == LOGICAL_REP_MSG_STREAM_STOP;
}

/* Too long since "write" was last called, or the clock was set back? */
static inline bool
is_due(Writer *writer, TimestampTz now)
{
	return now < writer->called || now - writer->called >= WRITER_TIME_LIMIT;
}

/* Hand the message in ctx->out, behind all that waits, to the walsender. */
static void
writer_send(LogicalDecodingContext *ctx, Writer *writer, XLogRecPtr lsn,
			TransactionId xid, bool last_write)
{
	/*
	 * The buffer cannot take more than MaxAllocSize, which one message may
	 * reach.
	 */
	if (writer->buffered > 0 &&
		ctx->out->len > MaxAllocSize - 2 * WRITER_SIZE_LIMIT)
		pq_flush();

	writer->buffered = 0;
	writer->write(ctx, lsn, xid, last_write);

	writer->called = coarse_time();
	writer->send_time = (TimestampTz) read_uint64(ctx->out->data + HEADER_TIME_OFFSET);
}

/*
 * ctx->write: append the message prepared in ctx->out to the connection's
 * buffer, or send it with all that is there.
 */
static void
writer_write(LogicalDecodingContext *ctx, XLogRecPtr lsn, TransactionId xid,
			 bool last_write)
{
	Writer	   *writer = writer_of(ctx);
	TimestampTz now = coarse_time();

	if (unlikely(!writer->checked))
	{
		if (!is_walsender(ctx, lsn, last_write))
		{
			writer_remove(ctx, writer);
			ctx->write(ctx, lsn, xid, last_write);
			return;
		}
		writer->checked = true;
	}

	if (is_end(ctx, xid) ||
		writer->buffered + ctx->out->len >= WRITER_SIZE_LIMIT ||
		is_due(writer, now))
	{
		writer_send(ctx, writer, lsn, xid, last_write);
		return;
	}

	/* the coarse clock may be behind the clock of the last message sent */
	writer->send_time = Max(writer->send_time, now);
	write_uint64(ctx->out->data + HEADER_TIME_OFFSET, (uint64) writer->send_time);
	pq_putmessage_noblock('d', ctx->out->data, ctx->out->len);
	writer->buffered += ctx->out->len + COPY_DATA_OVERHEAD;

	CHECK_FOR_INTERRUPTS();
}

/*
 * ctx->update_progress: called now and then while a transaction's changes are
 * not published.  Send what waits, then let the walsender do its part.
 */
static void
writer_update_progress(COMPAT_PROGRESS_ARGS)
{
	Writer	   *writer = writer_of(ctx);

	if (writer->buffered > 0 && is_due(writer, coarse_time()))
	{
		if (pq_flush_if_writable() != 0)
		{
			/* the client is gone: end as the walsender does, in silence */
			whereToSendOutput = DestNone;
			proc_exit(0);
		}
		if (!pq_is_send_pending())
			writer->buffered = 0;
	}

	compat_call_progress(writer->update_progress);
}
