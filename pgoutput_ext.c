/*-------------------------------------------------------------------------
 *
 * pgoutput_ext.c
 *	  Logical decoding output plugin: the callbacks, in the order of a
 *	  transaction's life.
 *
 * The plugin speaks the logical replication protocol like the server's own
 * pgoutput, byte for byte.  Each callback here asks what is published (plan.c),
 * has the client told of it (told.c) and the change encoded (message.c, tuple.c).
 *
 * The server calls back in a short-lived memory context.  All that stays
 * hangs on ctx->output_plugin_private, in the decoding context; what a change
 * needs is allocated in a context that is reset after each change.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "replication/output_plugin.h"
#include "replication/slot.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "compat.h"
#include "metadata/metadata.h"
#include "options/option_checks.h"
#include "options/options.h"
#include "options/pattern.h"
#include "options/setting.h"
#include "plugin.h"
#include "relations/identity.h"
#include "relations/invalidation.h"
#include "relations/plan.h"
#include "relations/publication.h"
#include "relations/row_filter.h"
#include "stream/message.h"
#include "stream/statistics.h"
#include "stream/transaction.h"
#include "stream/writer.h"
#include "told/told.h"
#include "values/encoder.h"

COMPAT_MODULE_MAGIC("pgoutput_ext", PGOUTPUT_EXT_VERSION);

COMPAT_FUNCTION_INFO_V1(pgoutput_ext_version);

extern PGDLLEXPORT void _PG_init(void);
extern PGDLLEXPORT void _PG_output_plugin_init(OutputPluginCallbacks *cb);

/*
 * _PG_init
 *		Called once when the library is loaded.
 */
void
_PG_init(void)
{
	encoders_check();
	setting_define();
}

/*
 * pgoutput_ext_version() returns text
 *		The version of the library that is loaded.
 */
Datum
pgoutput_ext_version(PG_FUNCTION_ARGS)
{
	PG_RETURN_TEXT_P(cstring_to_text(PGOUTPUT_EXT_VERSION));
}

/*
 * Startup.  A slot is created without options and sends nothing.
 */
static void
startup_cb(LogicalDecodingContext *ctx, OutputPluginOptions *opt, bool is_init)
{
	MemoryContext old = MemoryContextSwitchTo(ctx->context);
	PluginState *state = palloc0(sizeof(PluginState));
	List	   *setting;

	ctx->output_plugin_private = state;
	opt->output_type = OUTPUT_PLUGIN_BINARY_OUTPUT;

	if (is_init)
	{
		ctx->streaming = false;
		ctx->twophase = false;
		MemoryContextSwitchTo(old);
		return;
	}

	state->context = AllocSetContextCreate(ctx->context, "pgoutput_ext session",
										   ALLOCSET_START_SMALL_SIZES);
	state->change_context = AllocSetContextCreate(state->context,
												  "pgoutput_ext change",
												  ALLOCSET_DEFAULT_SIZES);
	state->publication_context = AllocSetContextCreate(state->context,
													   "pgoutput_ext publications",
													   ALLOCSET_SMALL_SIZES);
	MemoryContextSwitchTo(state->context);
	setting = setting_options();
	options_parse(ctx->output_plugin_options, setting, &state->options);
	options_check_protocol(ctx, &state->options);
	types_init(state);
	relations_init(state);
	plans_init(state);
	metadata_init(state);
	invalidation_subscribe(state);
	writer_install(ctx, state->options.coalesce_writes);
	state->prepared_streams_tell = compat_prepared_stream_tells();
	state->sent_up_to = MyReplicationSlot->data.confirmed_flush;
	statistics_install(ctx);
	ereport(DEBUG1,
			(errmsg_internal("pgoutput_ext %s decodes slot \"%s\" of plugin \"%s\" with: %s",
							 PGOUTPUT_EXT_VERSION,
							 NameStr(MyReplicationSlot->data.name),
							 NameStr(MyReplicationSlot->data.plugin),
							 options_text(ctx->output_plugin_options, setting))));
	MemoryContextSwitchTo(old);
}

/*
 * Begin.  The message waits for the first change, so that a transaction with
 * nothing to send is not sent.
 */
static void
begin_cb(LogicalDecodingContext *ctx, ReorderBufferTXN *txn)
{
	PluginState *state = plugin_state(ctx);
	TransactionState *transaction = transaction_start(ctx, txn, false);

	if (transaction->origin_excluded)
		return;
	if (state->options.empty_transactions == EMPTY_TRANSACTIONS_SEND ||
		(state->options.empty_transactions == EMPTY_TRANSACTIONS_SERVER &&
		 !SERVER_SKIPS_EMPTY_TRANSACTIONS))
		tell_begin(ctx, txn);
}

/* Kind of old tuple that a relation's changes carry: whole row or key. */
static char
old_tuple_kind(Relation target)
{
	return target->rd_rel->relreplident == REPLICA_IDENTITY_FULL ? 'O' : 'K';
}

static void
send_insert(LogicalDecodingContext *ctx, TransactionId xid, Relation target,
			TuplePlan *tuple)
{
	OutputPluginPrepareWrite(ctx, true);
	message_change(ctx->out, LOGICAL_REP_MSG_INSERT, xid,
				   RelationGetRelid(target), 'N');
	tuple_write_new(plugin_state(ctx), tuple, ctx->out, target, false);
	OutputPluginWrite(ctx, true);
}

static void
send_update(LogicalDecodingContext *ctx, TransactionId xid, Relation target,
			TuplePlan *tuple, bool has_old)
{
	OutputPluginPrepareWrite(ctx, true);
	message_change(ctx->out, LOGICAL_REP_MSG_UPDATE, xid,
				   RelationGetRelid(target),
				   has_old ? old_tuple_kind(target) : 'N');
	if (has_old)
	{
		tuple_write(plugin_state(ctx), tuple, ctx->out, OLD_TUPLE);
		appendStringInfoCharMacro(ctx->out, 'N');
	}
	tuple_write_new(plugin_state(ctx), tuple, ctx->out, target, has_old);
	OutputPluginWrite(ctx, true);
}

static void
send_delete(LogicalDecodingContext *ctx, TransactionId xid, Relation target,
			TuplePlan *tuple)
{
	OutputPluginPrepareWrite(ctx, true);
	message_change(ctx->out, LOGICAL_REP_MSG_DELETE, xid,
				   RelationGetRelid(target), old_tuple_kind(target));
	tuple_write(plugin_state(ctx), tuple, ctx->out, OLD_TUPLE);
	OutputPluginWrite(ctx, true);
}

/* Is an UPDATE to be sent as Delete and Insert, by option split_key_updates? */
static bool
update_is_split(PluginState *state, RelationPlan *plan, TuplePlan *tuple,
				Relation relation, Relation target, bool has_old)
{
	return state->options.split_key_updates && has_old &&
		identity_is_usable(plan, relation, target) &&
		tuple_columns_differ(state, tuple,
							 identity_key_columns(state, plan, relation, target)) &&
		tuple_is_whole(state, tuple, true);
}

/* Sends a change of a row that is published, if its row filter lets it. */
static void
send_change(LogicalDecodingContext *ctx, ReorderBufferTXN *txn,
			Relation relation, RelationPlan *plan, Relation target,
			ReorderBufferChange *change)
{
	PluginState *state = plugin_state(ctx);
	ReorderBufferChangeType action = change->action;
	TransactionId xid = streamed_xid(state, change->txn);
	TuplePlan  *tuple = plan_tuple(state, plan, relation, target);
	HeapTuple	old_tuple = change_old_tuple(change);
	HeapTuple	new_tuple = change_new_tuple(change);

	if (old_tuple)
		tuple_read(state, tuple, relation, old_tuple, OLD_TUPLE);
	if (new_tuple)
		tuple_read(state, tuple, relation, new_tuple, NEW_TUPLE);
	if (plan->filter &&
		!row_filter_check(state, plan->filter, tuple, old_tuple != NULL,
						  new_tuple != NULL, &action))
		return;
	if (state->options.missing_identity != MISSING_IDENTITY_SKIP &&
		action != REORDER_BUFFER_CHANGE_INSERT)
		identity_require(state, plan, relation, target,
						 action == REORDER_BUFFER_CHANGE_UPDATE ?
						 "UPDATE" : "DELETE");

	if (!relation_is_told(state, change->txn, plan))
	{
		tell_begin(ctx, txn);
		tell_relation(ctx, change->txn, plan, relation);
	}

	switch (action)
	{
		case REORDER_BUFFER_CHANGE_INSERT:
			send_insert(ctx, xid, target, tuple);
			break;
		case REORDER_BUFFER_CHANGE_UPDATE:
			if (update_is_split(state, plan, tuple, relation, target,
								old_tuple != NULL))
			{
				send_delete(ctx, xid, target, tuple);
				(void) tuple_take_old_toast(state, tuple);
				send_insert(ctx, xid, target, tuple);
			}
			else
				send_update(ctx, xid, target, tuple, old_tuple != NULL);
			break;
		case REORDER_BUFFER_CHANGE_DELETE:
			if (old_tuple)
				send_delete(ctx, xid, target, tuple);
			break;
		default:
			elog(ERROR, "unexpected change type %d", (int) action);
	}
}

/*
 * Is a change published?  A DELETE without an old tuple cannot be sent, and is
 * left out as pgoutput does, or reported by option missing_identity.  14 tells
 * the client of its relation all the same.
 */
static bool
change_is_published(PluginState *state, RelationPlan *plan, Relation relation,
					ReorderBufferChange *change)
{
	Relation	target;

	switch (change->action)
	{
		case REORDER_BUFFER_CHANGE_INSERT:
			return plan->inserts;
		case REORDER_BUFFER_CHANGE_UPDATE:
			return plan->updates;
		case REORDER_BUFFER_CHANGE_DELETE:
			if (!plan->deletes)
				return false;
			if (change_old_tuple(change))
				return true;
			if (state->options.missing_identity != MISSING_IDENTITY_SKIP)
			{
				target = plan_open_target(plan, relation);
				identity_require(state, plan, relation, target, "DELETE");
				if (target != relation)
					RelationClose(target);
			}
			elog(DEBUG1, "didn't send DELETE change because of missing oldtuple");
			return SERVER_TELLS_BEFORE_UNSENT_DELETE;
		default:
			elog(ERROR, "unexpected change type %d", (int) change->action);
	}
	return false;				/* keep the compiler quiet */
}

/* Frees what a change has allocated, which most do not. */
static inline void
forget_change(PluginState *state)
{
	if (!state->change_context->isReset || state->change_context->firstchild)
		MemoryContextReset(state->change_context);
}

/*
 * Insert, Update, Delete, in transactions of all kinds.
 */
static void
change_cb(LogicalDecodingContext *ctx, ReorderBufferTXN *txn, Relation relation,
		  ReorderBufferChange *change)
{
	PluginState *state = plugin_state(ctx);
	RelationPlan *plan;
	MemoryContext old;

	compat_progress_after_change(ctx, &state->changes);
	if (!origin_is_wanted(state, txn, change->origin_id))
		return;

	old = MemoryContextSwitchTo(state->change_context);
	plan = plan_of_relation(state, relation);
	if (plan && (plan->inserts || plan->updates || plan->deletes) &&
		change_is_published(state, plan, relation, change))
	{
		/* not opened for others: that can scan catalogs, see quirks.h */
		Relation	target = plan_open_target(plan, relation);

		send_change(ctx, txn, relation, plan, target, change);
		if (target != relation)
			RelationClose(target);
	}
	MemoryContextSwitchTo(old);
	forget_change(state);
}

/*
 * Truncate.  A part of the relation that its changes are announced as is left
 * out: that relation is truncated, or not.
 */
static void
truncate_cb(LogicalDecodingContext *ctx, ReorderBufferTXN *txn, int nrelations,
			Relation relations[], ReorderBufferChange *change)
{
	PluginState *state = plugin_state(ctx);
	MemoryContext old;
	Oid		   *relids;
	int			nrelids = 0;

	compat_progress_after_change(ctx, &state->changes);
	if (!origin_is_wanted(state, txn, change->origin_id))
		return;

	old = MemoryContextSwitchTo(state->change_context);
	relids = palloc(nrelations * sizeof(Oid));
	for (int i = 0; i < nrelations; i++)
	{
		RelationPlan *plan = plan_of_relation(state, relations[i]);

		if (plan == NULL || !plan->truncates ||
			plan_is_part(state, plan, relations[i]))
			continue;
		relids[nrelids++] = plan->relid;
		tell_begin(ctx, txn);
		tell_relation(ctx, change->txn, plan, relations[i]);
	}
	if (nrelids > 0)
	{
		OutputPluginPrepareWrite(ctx, true);
		message_truncate(ctx->out, streamed_xid(state, change->txn),
						 nrelids, relids, change->data.truncate.cascade,
						 change->data.truncate.restart_seqs);
		OutputPluginWrite(ctx, true);
	}
	MemoryContextSwitchTo(old);
	forget_change(state);
}

/*
 * Message.  One that is not transactional has no transaction to begin.
 */
static void
message_cb(LogicalDecodingContext *ctx, ReorderBufferTXN *txn, XLogRecPtr lsn,
		   bool transactional, const char *prefix, Size length,
		   const char *content)
{
	PluginState *state = plugin_state(ctx);
	TransactionId xid = InvalidTransactionId;

	compat_progress_after_change(ctx, &state->changes);
	if (!state->options.messages ||
		!prefix_lists_want(state->options.message_prefixes,
						   state->options.exclude_message_prefixes, prefix))
		return;
	if (transactional)
	{
		if (!origin_is_wanted(state, txn, transaction_message_origin(state, txn)))
			return;
		tell_begin(ctx, txn);
	}
	if (state->in_streaming)
		xid = txn->xid;

	OutputPluginPrepareWrite(ctx, true);
	message_message(ctx->out, xid, transactional, lsn, prefix, content, length);
	OutputPluginWrite(ctx, true);
}

/*
 * Commit.
 */
static void
commit_cb(LogicalDecodingContext *ctx, ReorderBufferTXN *txn,
		  XLogRecPtr commit_lsn)
{
	PluginState *state = plugin_state(ctx);
	TransactionState *transaction = transaction_of(txn);
	bool		begin_sent;

	if (transaction == NULL)
		elog(ERROR, "commit of transaction %u that has not begun", txn->xid);
	if (!transaction->begin_sent && progress_is_due(state, txn))
		tell_begin(ctx, txn);
	begin_sent = transaction->begin_sent;
	compat_update_progress(ctx, !begin_sent, &state->changes);
	told_end(state, txn);
	if (!begin_sent)
	{
		elog(DEBUG1, "skipped replication of an empty transaction with XID: %u",
			 txn->xid);
		return;
	}

	OutputPluginPrepareWrite(ctx, true);
	message_commit(ctx->out, txn, commit_lsn);
	OutputPluginWrite(ctx, true);
	state->sent_up_to = txn->end_lsn;
}

#ifdef HAVE_TWO_PHASE_OPTION
/*
 * Begin Prepare.  Sent for empty transactions, too: after a restart nobody
 * could tell whether Commit Prepared has something to commit.
 */
static void
begin_prepare_cb(LogicalDecodingContext *ctx, ReorderBufferTXN *txn)
{
	transaction_start(ctx, txn, false)->begin_sent = true;

	OutputPluginPrepareWrite(ctx, txn->origin_id == InvalidReplOriginId);
	message_begin_prepare(ctx->out, txn);
	tell_origin(ctx, txn, txn->origin_lsn);
	OutputPluginWrite(ctx, true);
	metadata_transaction(ctx, txn);
}

/*
 * Prepare.
 */
static void
prepare_cb(LogicalDecodingContext *ctx, ReorderBufferTXN *txn,
		   XLogRecPtr prepare_lsn)
{
	PluginState *state = plugin_state(ctx);

	told_end(state, txn);
	compat_update_progress(ctx, false, &state->changes);
	OutputPluginPrepareWrite(ctx, true);
	message_prepare(ctx->out, txn, prepare_lsn);
	OutputPluginWrite(ctx, true);
	state->sent_up_to = txn->end_lsn;
}

/*
 * Commit Prepared.
 */
static void
commit_prepared_cb(LogicalDecodingContext *ctx, ReorderBufferTXN *txn,
				   XLogRecPtr commit_lsn)
{
	PluginState *state = plugin_state(ctx);

	compat_update_progress(ctx, false, &state->changes);
	OutputPluginPrepareWrite(ctx, true);
	message_commit_prepared(ctx->out, txn, commit_lsn);
	OutputPluginWrite(ctx, true);
	state->sent_up_to = txn->end_lsn;
}

/*
 * Rollback Prepared.
 */
static void
rollback_prepared_cb(LogicalDecodingContext *ctx, ReorderBufferTXN *txn,
					 XLogRecPtr prepare_end_lsn, TimestampTz prepare_time)
{
	PluginState *state = plugin_state(ctx);

	compat_update_progress(ctx, false, &state->changes);
	OutputPluginPrepareWrite(ctx, true);
	message_rollback_prepared(ctx->out, txn, prepare_end_lsn, prepare_time);
	OutputPluginWrite(ctx, true);
	state->sent_up_to = txn->end_lsn;
}

/*
 * Stream Prepare.
 */
static void
stream_prepare_cb(LogicalDecodingContext *ctx, ReorderBufferTXN *txn,
				  XLogRecPtr prepare_lsn)
{
	PluginState *state = plugin_state(ctx);

	compat_update_progress(ctx, false, &state->changes);
	OutputPluginPrepareWrite(ctx, true);
	message_stream_prepare(ctx->out, txn, prepare_lsn);
	OutputPluginWrite(ctx, true);
	state->sent_up_to = txn->end_lsn;

	if (state->prepared_streams_tell)
		told_stream_committed(state, txn);
	told_end(state, txn);
}
#endif							/* HAVE_TWO_PHASE_OPTION */

/*
 * Stream Start: a piece of a large transaction that has not ended.
 */
static void
stream_start_cb(LogicalDecodingContext *ctx, ReorderBufferTXN *txn)
{
	PluginState *state = plugin_state(ctx);
	bool		first = !rbtxn_is_streamed(txn);

	(void) transaction_start(ctx, txn, true);
	OutputPluginPrepareWrite(ctx,
							 !first || txn->origin_id == InvalidReplOriginId);
	message_stream_start(ctx->out, txn->xid, first);
	if (first)
		tell_origin(ctx, txn, InvalidXLogRecPtr);
	OutputPluginWrite(ctx, true);
	state->in_streaming = true;
	if (first)
		metadata_transaction(ctx, txn);
}

/*
 * Stream Stop.
 */
static void
stream_stop_cb(LogicalDecodingContext *ctx, ReorderBufferTXN *txn)
{
	OutputPluginPrepareWrite(ctx, true);
	message_stream_stop(ctx->out);
	OutputPluginWrite(ctx, true);
	plugin_state(ctx)->in_streaming = false;
}

/*
 * Stream Abort, of a streamed transaction or of a subtransaction of one.
 */
static void
stream_abort_cb(LogicalDecodingContext *ctx, ReorderBufferTXN *txn,
				XLogRecPtr abort_lsn)
{
	PluginState *state = plugin_state(ctx);
	ReorderBufferTXN *toptxn = rbtxn_get_toptxn(txn);

	OutputPluginPrepareWrite(ctx, true);
	message_stream_abort(ctx->out, toptxn->xid, txn->xid,
						 state->options.streaming == STREAMING_PARALLEL,
						 abort_lsn, txn_abort_time(txn));
	OutputPluginWrite(ctx, true);

	told_stream_aborted(state, txn);
	if (txn == toptxn)
		told_end(state, txn);
}

/*
 * Stream Commit.
 */
static void
stream_commit_cb(LogicalDecodingContext *ctx, ReorderBufferTXN *txn,
				 XLogRecPtr commit_lsn)
{
	PluginState *state = plugin_state(ctx);

	compat_update_progress(ctx, false, &state->changes);
	OutputPluginPrepareWrite(ctx, true);
	message_stream_commit(ctx->out, txn, commit_lsn);
	OutputPluginWrite(ctx, true);
	state->sent_up_to = txn->end_lsn;

	told_stream_committed(state, txn);
	metadata_committed(ctx, txn);
	told_end(state, txn);
}

/*
 * Filter of origins, asked when a change is read from WAL, outside of any
 * transaction: names of origins cannot be looked up here.
 */
static bool
filter_by_origin_cb(LogicalDecodingContext *ctx, ReplOriginId origin)
{
	return plugin_state(ctx)->options.origin_none &&
		origin != InvalidReplOriginId;
}

/*
 * Shutdown.  Nothing to do: the state goes with the decoding context, also
 * after an error, when this is not called.
 */
static void
shutdown_cb(LogicalDecodingContext *ctx)
{
}

/*
 * _PG_output_plugin_init
 *		Entry point of the library: fills in the callbacks.
 */
void
_PG_output_plugin_init(OutputPluginCallbacks *cb)
{
	cb->startup_cb = startup_cb;
	cb->begin_cb = begin_cb;
	cb->change_cb = change_cb;
	cb->truncate_cb = truncate_cb;
	cb->message_cb = message_cb;
	cb->commit_cb = commit_cb;
	cb->filter_by_origin_cb = filter_by_origin_cb;
	cb->shutdown_cb = shutdown_cb;

#ifdef HAVE_TWO_PHASE_OPTION
	cb->begin_prepare_cb = begin_prepare_cb;
	cb->prepare_cb = prepare_cb;
	cb->commit_prepared_cb = commit_prepared_cb;
	cb->rollback_prepared_cb = rollback_prepared_cb;
	cb->stream_prepare_cb = stream_prepare_cb;
#endif

	cb->stream_start_cb = stream_start_cb;
	cb->stream_stop_cb = stream_stop_cb;
	cb->stream_abort_cb = stream_abort_cb;
	cb->stream_commit_cb = stream_commit_cb;
	cb->stream_change_cb = change_cb;
	cb->stream_message_cb = message_cb;
	cb->stream_truncate_cb = truncate_cb;
}
