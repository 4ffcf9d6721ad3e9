/*-------------------------------------------------------------------------
 *
 * compat.h
 *	  What differs between the major versions of the server.
 *
 * The only file that knows server versions.  It names features (HAVE_...) and
 * gives one spelling to what has several; everything else asks for those.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PGOUTPUT_EXT_COMPAT_H
#define PGOUTPUT_EXT_COMPAT_H

#include "access/attmap.h"
#include "access/tupconvert.h"
#include "catalog/catversion.h"
#include "catalog/pg_publication.h"
#include "fmgr.h"
#include "replication/logical.h"
#include "replication/logicalproto.h"
#include "replication/origin.h"
#include "replication/reorderbuffer.h"
#include "replication/slot.h"
#include "utils/guc.h"
#include "utils/rel.h"
#if PG_VERSION_NUM < 150000
#include "access/xlog.h"
#include "miscadmin.h"
#include "utils/int8.h"
#else
#include "access/xlogrecovery.h"
#endif

#if PG_VERSION_NUM < 140000
#error "pgoutput_ext needs PostgreSQL 14 or newer"
#endif

/*
 * 16: all but what is marked is hidden in a library.  Before, the server marks
 * nothing on most platforms, while the Makefile has all hidden.
 */
#if PG_VERSION_NUM < 160000
#undef PGDLLEXPORT
#define PGDLLEXPORT __attribute__((visibility("default")))
#endif

/* The library's magic block; from 18 on with its name and version. */
#ifdef PG_MODULE_MAGIC_EXT
#define COMPAT_MODULE_MAGIC(module_name, module_version) \
PG_MODULE_MAGIC_EXT(.name = module_name, .version = module_version)
#else
#define COMPAT_MODULE_MAGIC(module_name, module_version) PG_MODULE_MAGIC
#endif

/* Declares a function that SQL calls, as PG_FUNCTION_INFO_V1 does from 16 on. */
#define COMPAT_FUNCTION_INFO_V1(name) \
extern PGDLLEXPORT Datum name(PG_FUNCTION_ARGS); \
PG_FUNCTION_INFO_V1(name)

/*
 * 15: row filters, column lists, FOR TABLES IN SCHEMA, the option two_phase;
 * pgoutput leaves out empty transactions.
 */
#if PG_VERSION_NUM >= 150000
#define HAVE_PUBLICATION_DETAILS 1
#define HAVE_TWO_PHASE_OPTION 1
#define SERVER_SKIPS_EMPTY_TRANSACTIONS true
#else
#define PublicationRelPrpubidIndexId InvalidOid /* no such index yet */
#define SERVER_SKIPS_EMPTY_TRANSACTIONS false
#endif

/*
 * 15: pgoutput tells the client of a relation again after a change of any
 * publication, and asks what publications say of a relation again after a
 * change of the relation.  In 14 each concerns the other no more.
 */
#if PG_VERSION_NUM >= 150000
#define SERVER_FORGETS_WITH_PUBLICATIONS true
#define SERVER_ASKS_AGAIN_WITH_RELATION true
#else
#define SERVER_FORGETS_WITH_PUBLICATIONS false
#define SERVER_ASKS_AGAIN_WITH_RELATION false
#endif

/* 15: nothing is sent for a DELETE without an old tuple, also not its Relation. */
#if PG_VERSION_NUM >= 150000
#define SERVER_TELLS_BEFORE_UNSENT_DELETE false
#else
#define SERVER_TELLS_BEFORE_UNSENT_DELETE true
#endif

/* 15: columns that a partition's old row lacks have their value by the root, too. */
#if PG_VERSION_NUM >= 150000
#define SERVER_LOSES_ADDED_COLUMNS_BY_ROOT false
#else
#define SERVER_LOSES_ADDED_COLUMNS_BY_ROOT true
#endif

/* 15: interval_out writes any number of hours; 14 refuses what no int holds. */
#if PG_VERSION_NUM >= 150000
#define INTERVAL_MAX_TIME PG_INT64_MAX
#else
#define INTERVAL_MAX_TIME (PG_INT32_MAX * USECS_PER_HOUR)
#endif

/* 15: names of settings can be reserved, not only those that exist. */
#if PG_VERSION_NUM < 150000
#define MarkGUCPrefixReserved(prefix) EmitWarningsOnPlaceholders(prefix)
#endif

/* 15: types of messages and changes have names that 14 lacks. */
#if PG_VERSION_NUM < 150000
typedef enum ReorderBufferChangeType ReorderBufferChangeType;
#define LOGICAL_REP_MSG_STREAM_STOP LOGICAL_REP_MSG_STREAM_END
#endif

/*
 * 16: streaming "parallel" (protocol 4) and the option origin in pgoutput; a
 * column list is compared with the columns that can be sent.
 */
#if PG_VERSION_NUM >= 160000
#define FULL_LIST_IS_SENT_COLUMNS 1
#define HAVE_PARALLEL_STREAMING 1
#define HAVE_NAMESPACE_FLUSH 1
#define PROTOCOL_SUPPORT_SUBJECT "server only supports"
#else
#define PROTOCOL_SUPPORT_SUBJECT "we only support"
#endif

/* 17: a missing option is named when the options have been read. */
#if PG_VERSION_NUM >= 170000
#define HAVE_MISSING_OPTION_CHECK 1
#endif

/*
 * 18: publish_generated_columns; a change of a publication invalidates the
 * relations that it concerns; a missing publication is skipped.
 */
#if PG_VERSION_NUM >= 180000
#define HAVE_PUBLISHED_GENERATED_COLUMNS 1
#define HAVE_RELSYNC_INVALIDATION 1
#define SERVER_SKIPS_MISSING_PUBLICATIONS true
#else
#define SERVER_SKIPS_MISSING_PUBLICATIONS false
#endif

/* 19: FOR ALL TABLES EXCEPT, FOR ALL SEQUENCES. */
#if PG_VERSION_NUM >= 190000
#define HAVE_EXCEPT_TABLES 1
#define HAVE_ALL_SEQUENCES 1
#endif

/* Replication origins were renamed in 19, the times of a transaction often. */
#if PG_VERSION_NUM >= 190000
#define txn_commit_time(txn)	((txn)->commit_time)
#define txn_prepare_time(txn)	((txn)->prepare_time)
#define txn_abort_time(txn)		((txn)->abort_time)
typedef SysCacheIdentifier CompatCacheId;
#else
typedef RepOriginId ReplOriginId;
#define InvalidReplOriginId		InvalidRepOriginId
typedef int CompatCacheId;
#if PG_VERSION_NUM >= 150000
#define txn_commit_time(txn)	((txn)->xact_time.commit_time)
#define txn_prepare_time(txn)	((txn)->xact_time.prepare_time)
#else
#define txn_commit_time(txn)	((txn)->commit_time)
#endif
#ifdef HAVE_PARALLEL_STREAMING
#define txn_abort_time(txn)		((txn)->xact_time.abort_time)
#else
#define txn_abort_time(txn)		((TimestampTz) 0)	/* not sent */
#endif
#endif

#ifndef rbtxn_get_toptxn
#define rbtxn_get_toptxn(txn)	((txn)->toptxn ? (txn)->toptxn : (txn))
#endif

/* The tuples of a change were wrapped before 17. */
#if PG_VERSION_NUM >= 170000
#define change_old_tuple(change)	((change)->data.tp.oldtuple)
#define change_new_tuple(change)	((change)->data.tp.newtuple)
#else
#define change_old_tuple(change) \
	((change)->data.tp.oldtuple ? &(change)->data.tp.oldtuple->tuple : NULL)
#define change_new_tuple(change) \
	((change)->data.tp.newtuple ? &(change)->data.tp.newtuple->tuple : NULL)
#endif

/*
 * Map from the columns of "from" to those of "to", by name; NULL if the
 * layouts are the same.  Allocated in the current memory context.
 */
static inline AttrMap *
compat_attrmap_by_name(TupleDesc from, TupleDesc to)
{
#if PG_VERSION_NUM >= 160000
	return build_attrmap_by_name_if_req(from, to, false);
#else
	return build_attrmap_by_name_if_req(from, to);
#endif
}

/*
 * The callback by which a walsender hears of progress, and a call of it.  From
 * 15 on it is told whether the transaction was skipped.
 */
#if PG_VERSION_NUM >= 150000
#define COMPAT_PROGRESS_ARGS	LogicalDecodingContext *ctx, XLogRecPtr lsn, \
	TransactionId xid, bool skipped_xact
#define compat_call_progress(callback) (callback) (ctx, lsn, xid, skipped_xact)
#else
#define COMPAT_PROGRESS_ARGS	LogicalDecodingContext *ctx, XLogRecPtr lsn, \
	TransactionId xid
#define compat_call_progress(callback) (callback) (ctx, lsn, xid)
#endif

/*
 * Tells the walsender how far decoding has come, at the end of a transaction
 * or after a change.  From 16 on the server itself does it after changes;
 * before, the plugin has to, now and then, so that the connection lives while
 * a large transaction is not sent.  "changes" counts changes since the last
 * time.
 */
static inline void
compat_update_progress(LogicalDecodingContext *ctx, bool skipped, int *changes)
{
#if PG_VERSION_NUM >= 160000
	OutputPluginUpdateProgress(ctx, skipped);
#else
	if (ctx->end_xact || ++*changes >= 100)
	{
#if PG_VERSION_NUM >= 150000
		OutputPluginUpdateProgress(ctx, skipped);
#else
		OutputPluginUpdateProgress(ctx);
#endif
		*changes = 0;
	}
#endif
}

static inline void
compat_progress_after_change(LogicalDecodingContext *ctx, int *changes)
{
#if PG_VERSION_NUM < 160000
	compat_update_progress(ctx, false, changes);
#endif
}

/*
 * Reads a protocol version as the server's pgoutput does: 14 lets spaces stand
 * around it, and any sign is out of range; later ones read what strtoul() does.
 * Some minor releases (16.4, 18.6) take an empty one for 0, which they then
 * refuse; here it is malformed on all.
 */
static inline bool
compat_parse_version(const char *value, uint64 *parsed)
{
#if PG_VERSION_NUM >= 150000
	char	   *end;

	errno = 0;
	*parsed = strtoul(value, &end, 10);
	return errno == 0 && *end == '\0' && end != value;
#else
	return scanint8(value, true, (int64 *) parsed);
#endif
}

/* May the slot's client be sent prepared transactions as such? */
static inline void
compat_allow_two_phase(LogicalDecodingContext *ctx, bool allow)
{
#ifdef HAVE_TWO_PHASE_OPTION
	ctx->twophase_opt_given = allow;
#endif
}

/*
 * A slot is read by the server's functions with these: may the user, can the
 * server, up to where, and the slot becomes this process's.  14 keeps the first
 * to itself.
 */
static inline void
compat_check_decoding_allowed(void)
{
#if PG_VERSION_NUM >= 150000
	CheckSlotPermissions();
#else
	if (!superuser() && !has_rolreplication(GetUserId()))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("must be superuser or replication role to use replication slots")));
#endif
#if PG_VERSION_NUM >= 190000
	CheckLogicalDecodingRequirements(false);
#else
	CheckLogicalDecodingRequirements();
#endif
}

static inline XLogRecPtr
compat_end_of_wal(void)
{
	if (RecoveryInProgress())
		return GetXLogReplayRecPtr(NULL);
#if PG_VERSION_NUM >= 150000
	return GetFlushRecPtr(NULL);
#else
	return GetFlushRecPtr();
#endif
}

static inline void
compat_acquire_slot(const char *name)
{
#if PG_VERSION_NUM >= 180000
	ReplicationSlotAcquire(name, true, true);
#else
	ReplicationSlotAcquire(name, true);
#endif
}

/*
 * Does what a streamed transaction was told count when it is prepared, as it
 * does when it is committed?  From the minor releases of November 2026 on, 18's
 * but one later; which one runs is known only at run time.  Of the development
 * of 20, what was tried (22 August 2026) does not have it.
 */
static inline bool
compat_prepared_stream_tells(void)
{
#if PG_VERSION_NUM >= 200000
	return CATALOG_VERSION_NO > 202608183;
#elif PG_VERSION_NUM >= 190000
	return true;
#else
	static const int first[] = {140025, 150020, 160016, 170012, 180007};
	int			version = atoi(GetConfigOption("server_version_num", false, false));

	return version >= first[PG_VERSION_NUM / 10000 - 14];
#endif
}

#endif							/* PGOUTPUT_EXT_COMPAT_H */
