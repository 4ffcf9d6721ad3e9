/*-------------------------------------------------------------------------
 *
 * message.c
 *	  Writers of the documented logical replication messages.
 *
 * One function per message, in the order of the chapter "Logical Replication
 * Message Formats"; Insert, Update and Delete share message_change() in the
 * header, their TupleData is written by tuple.c.  Each appends one message to the decoding
 * context's buffer, for a callback in pgoutput_ext.c.  What they allocate is
 * in the per-change or per-transaction memory that they are called in.
 *
 * "xid" is the transaction ID that a message carries inside a streamed
 * transaction, InvalidTransactionId elsewhere.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_type.h"
#include "libpq/pqformat.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "stream/message.h"

#define FLAGS_NONE 0
#define MESSAGE_IS_TRANSACTIONAL 1
#define COLUMN_IS_KEY 1
#define TRUNCATE_IS_CASCADE 1
#define TRUNCATE_RESTARTS_IDENTITY 2

/* lengths of the messages that each transaction has */
#define BEGIN_LENGTH (1 + 8 + 8 + 4)
#define COMMIT_LENGTH (1 + 1 + 8 + 8 + 8)

static void
write_type_and_xid(StringInfo out, char type, TransactionId xid)
{
	pq_sendbyte(out, type);
	if (TransactionIdIsValid(xid))
		pq_sendint32(out, xid);
}

/* A schema's name, empty for pg_catalog. */
static void
write_namespace(StringInfo out, Oid namespace_id)
{
	char	   *name;

	if (namespace_id == PG_CATALOG_NAMESPACE)
	{
		pq_sendbyte(out, '\0');
		return;
	}
	name = get_namespace_name(namespace_id);
	if (name == NULL)
		elog(ERROR, "cache lookup failed for namespace %u", namespace_id);
	pq_sendstring(out, name);
	pfree(name);
}

/* Begin */
void
message_begin(StringInfo out, ReorderBufferTXN *txn)
{
	message_room(out, BEGIN_LENGTH);
	pq_writeint8(out, LOGICAL_REP_MSG_BEGIN);
	pq_writeint64(out, txn->final_lsn);
	pq_writeint64(out, txn_commit_time(txn));
	pq_writeint32(out, txn->xid);
}

/* Message: "length" bytes of content, which are not converted */
void
message_message(StringInfo out, TransactionId xid, bool transactional,
				XLogRecPtr lsn, const char *prefix, const char *content,
				Size length)
{
	write_type_and_xid(out, LOGICAL_REP_MSG_MESSAGE, xid);
	pq_sendint8(out, transactional ? MESSAGE_IS_TRANSACTIONAL : FLAGS_NONE);
	pq_sendint64(out, lsn);
	pq_sendstring(out, prefix);
	pq_sendint32(out, length);
	pq_sendbytes(out, content, length);
}

/* Commit */
void
message_commit(StringInfo out, ReorderBufferTXN *txn, XLogRecPtr commit_lsn)
{
	message_room(out, COMMIT_LENGTH);
	pq_writeint8(out, LOGICAL_REP_MSG_COMMIT);
	pq_writeint8(out, FLAGS_NONE);
	pq_writeint64(out, commit_lsn);
	pq_writeint64(out, txn->end_lsn);
	pq_writeint64(out, txn_commit_time(txn));
}

/* Origin */
void
message_origin(StringInfo out, const char *name, XLogRecPtr lsn)
{
	pq_sendbyte(out, LOGICAL_REP_MSG_ORIGIN);
	pq_sendint64(out, lsn);
	pq_sendstring(out, name);
}

static void
write_relation_columns(StringInfo out, Relation relation,
					   const ColumnSet *columns)
{
	TupleDesc	desc = RelationGetDescr(relation);
	bool		full = relation->rd_rel->relreplident == REPLICA_IDENTITY_FULL;
	Bitmapset  *identity = full ? NULL : relation_identity_columns(relation);
	int			count_at = out->len;
	uint16		count = 0;

	pq_sendint16(out, 0);
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);
		bool		is_key;

		if (!column_is_sent(att, columns))
			continue;
		is_key = full ||
			bms_is_member(att->attnum - FirstLowInvalidHeapAttributeNumber,
						  identity);
		pq_sendint8(out, is_key ? COLUMN_IS_KEY : FLAGS_NONE);
		pq_sendstring(out, NameStr(att->attname));
		pq_sendint32(out, att->atttypid);
		pq_sendint32(out, att->atttypmod);
		count++;
	}
	bms_free(identity);

	count = pg_hton16(count);
	memcpy(out->data + count_at, &count, sizeof(count));
}

/* Relation */
void
message_relation(StringInfo out, TransactionId xid, Relation relation,
				 const ColumnSet *columns)
{
	write_type_and_xid(out, LOGICAL_REP_MSG_RELATION, xid);
	pq_sendint32(out, RelationGetRelid(relation));
	write_namespace(out, RelationGetNamespace(relation));
	pq_sendstring(out, RelationGetRelationName(relation));
	pq_sendbyte(out, relation->rd_rel->relreplident);
	write_relation_columns(out, relation, columns);
}

/* Type: the type's own OID with the name of its base type, as pgoutput has it */
void
message_type(StringInfo out, TransactionId xid, Oid type_id)
{
	Oid			base_id = getBaseType(type_id);
	HeapTuple	tuple;
	Form_pg_type type;

	write_type_and_xid(out, LOGICAL_REP_MSG_TYPE, xid);
	tuple = SearchSysCache1(TYPEOID, ObjectIdGetDatum(base_id));
	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for type %u", base_id);
	type = (Form_pg_type) GETSTRUCT(tuple);
	pq_sendint32(out, type_id);
	write_namespace(out, type->typnamespace);
	pq_sendstring(out, NameStr(type->typname));
	ReleaseSysCache(tuple);
}

/* Truncate */
void
message_truncate(StringInfo out, TransactionId xid, int nrelids,
				 const Oid *relids, bool cascade, bool restart_seqs)
{
	write_type_and_xid(out, LOGICAL_REP_MSG_TRUNCATE, xid);
	pq_sendint32(out, nrelids);
	pq_sendint8(out, (cascade ? TRUNCATE_IS_CASCADE : 0) |
				(restart_seqs ? TRUNCATE_RESTARTS_IDENTITY : 0));
	for (int i = 0; i < nrelids; i++)
		pq_sendint32(out, relids[i]);
}

/* Stream Start */
void
message_stream_start(StringInfo out, TransactionId xid, bool first)
{
	pq_sendbyte(out, LOGICAL_REP_MSG_STREAM_START);
	pq_sendint32(out, xid);
	pq_sendint8(out, first ? 1 : 0);
}

/* Stream Stop */
void
message_stream_stop(StringInfo out)
{
	pq_sendbyte(out, LOGICAL_REP_MSG_STREAM_STOP);
}

/* Stream Commit */
void
message_stream_commit(StringInfo out, ReorderBufferTXN *txn,
					  XLogRecPtr commit_lsn)
{
	pq_sendbyte(out, LOGICAL_REP_MSG_STREAM_COMMIT);
	pq_sendint32(out, txn->xid);
	pq_sendint8(out, FLAGS_NONE);
	pq_sendint64(out, commit_lsn);
	pq_sendint64(out, txn->end_lsn);
	pq_sendint64(out, txn_commit_time(txn));
}

/* Stream Abort: LSN and time only if the client streams in parallel */
void
message_stream_abort(StringInfo out, TransactionId xid, TransactionId subxid,
					 bool parallel, XLogRecPtr abort_lsn,
					 TimestampTz abort_time)
{
	pq_sendbyte(out, LOGICAL_REP_MSG_STREAM_ABORT);
	pq_sendint32(out, xid);
	pq_sendint32(out, subxid);
	if (parallel)
	{
		pq_sendint64(out, abort_lsn);
		pq_sendint64(out, abort_time);
	}
}

#ifdef HAVE_TWO_PHASE_OPTION
/* Begin Prepare */
void
message_begin_prepare(StringInfo out, ReorderBufferTXN *txn)
{
	pq_sendbyte(out, LOGICAL_REP_MSG_BEGIN_PREPARE);
	pq_sendint64(out, txn->final_lsn);
	pq_sendint64(out, txn->end_lsn);
	pq_sendint64(out, txn_prepare_time(txn));
	pq_sendint32(out, txn->xid);
	pq_sendstring(out, txn->gid);
}

/* Prepare and Stream Prepare have the same fields. */
static void
write_prepare(StringInfo out, char type, ReorderBufferTXN *txn,
			  XLogRecPtr prepare_lsn)
{
	pq_sendbyte(out, type);
	pq_sendint8(out, FLAGS_NONE);
	pq_sendint64(out, prepare_lsn);
	pq_sendint64(out, txn->end_lsn);
	pq_sendint64(out, txn_prepare_time(txn));
	pq_sendint32(out, txn->xid);
	pq_sendstring(out, txn->gid);
}

/* Prepare */
void
message_prepare(StringInfo out, ReorderBufferTXN *txn, XLogRecPtr prepare_lsn)
{
	write_prepare(out, LOGICAL_REP_MSG_PREPARE, txn, prepare_lsn);
}

/* Commit Prepared */
void
message_commit_prepared(StringInfo out, ReorderBufferTXN *txn,
						XLogRecPtr commit_lsn)
{
	pq_sendbyte(out, LOGICAL_REP_MSG_COMMIT_PREPARED);
	pq_sendint8(out, FLAGS_NONE);
	pq_sendint64(out, commit_lsn);
	pq_sendint64(out, txn->end_lsn);
	pq_sendint64(out, txn_commit_time(txn));
	pq_sendint32(out, txn->xid);
	pq_sendstring(out, txn->gid);
}

/* Rollback Prepared */
void
message_rollback_prepared(StringInfo out, ReorderBufferTXN *txn,
						  XLogRecPtr prepare_end_lsn, TimestampTz prepare_time)
{
	pq_sendbyte(out, LOGICAL_REP_MSG_ROLLBACK_PREPARED);
	pq_sendint8(out, FLAGS_NONE);
	pq_sendint64(out, prepare_end_lsn);
	pq_sendint64(out, txn->end_lsn);
	pq_sendint64(out, prepare_time);
	pq_sendint64(out, txn_commit_time(txn));
	pq_sendint32(out, txn->xid);
	pq_sendstring(out, txn->gid);
}

/* Stream Prepare */
void
message_stream_prepare(StringInfo out, ReorderBufferTXN *txn,
					   XLogRecPtr prepare_lsn)
{
	write_prepare(out, LOGICAL_REP_MSG_STREAM_PREPARE, txn, prepare_lsn);
}
#endif							/* HAVE_TWO_PHASE_OPTION */
