/*-------------------------------------------------------------------------
 *
 * message.h
 *	  Writers of the documented logical replication messages.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PGOUTPUT_EXT_MESSAGE_H
#define PGOUTPUT_EXT_MESSAGE_H

#include "libpq/pqformat.h"
#include "utils/rel.h"

#include "compat.h"
#include "values/columns.h"
#include "values/room.h"

extern void message_begin(StringInfo out, ReorderBufferTXN *txn);
extern void message_message(StringInfo out, TransactionId xid,
							bool transactional, XLogRecPtr lsn,
							const char *prefix, const char *content,
							Size length);
extern void message_commit(StringInfo out, ReorderBufferTXN *txn,
						   XLogRecPtr commit_lsn);
extern void message_origin(StringInfo out, const char *name, XLogRecPtr lsn);
extern void message_relation(StringInfo out, TransactionId xid,
							 Relation relation, const ColumnSet *columns);
extern void message_type(StringInfo out, TransactionId xid, Oid type_id);
extern void message_truncate(StringInfo out, TransactionId xid, int nrelids,
							 const Oid *relids, bool cascade,
							 bool restart_seqs);
extern void message_stream_start(StringInfo out, TransactionId xid,
								 bool first);
extern void message_stream_stop(StringInfo out);
extern void message_stream_commit(StringInfo out, ReorderBufferTXN *txn,
								  XLogRecPtr commit_lsn);
extern void message_stream_abort(StringInfo out, TransactionId xid,
								 TransactionId subxid, bool parallel,
								 XLogRecPtr abort_lsn, TimestampTz abort_time);
#ifdef HAVE_TWO_PHASE_OPTION
extern void message_begin_prepare(StringInfo out, ReorderBufferTXN *txn);
extern void message_prepare(StringInfo out, ReorderBufferTXN *txn,
							XLogRecPtr prepare_lsn);
extern void message_commit_prepared(StringInfo out, ReorderBufferTXN *txn,
									XLogRecPtr commit_lsn);
extern void message_rollback_prepared(StringInfo out, ReorderBufferTXN *txn,
									  XLogRecPtr prepare_end_lsn,
									  TimestampTz prepare_time);
extern void message_stream_prepare(StringInfo out, ReorderBufferTXN *txn,
								   XLogRecPtr prepare_lsn);
#endif

/*
 * Insert, Update, Delete: what precedes their first tuple, of the given kind
 * ('N', 'K' or 'O')
 */
static inline void
message_change(StringInfo out, char type, TransactionId xid, Oid relid,
			   char kind)
{
	message_room(out, sizeof(type) + sizeof(xid) + sizeof(relid) + sizeof(kind));
	out->data[out->len++] = type;
	if (TransactionIdIsValid(xid))
		pq_writeint32(out, xid);
	pq_writeint32(out, relid);
	out->data[out->len++] = kind;
}

#endif							/* PGOUTPUT_EXT_MESSAGE_H */
