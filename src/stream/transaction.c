/*-------------------------------------------------------------------------
 *
 * transaction.c
 *	  The state of a transaction that is being decoded.
 *
 * Called by the callbacks in pgoutput_ext.c.  The state lives in the session's
 * context, from the transaction's first callback to its last one.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "options/pattern.h"
#include "stream/transaction.h"
#include "values/canonical.h"

/* Are changes of this replication origin sent, by its name? */
static bool
origin_is_sent(PluginState *state, ReplOriginId origin)
{
	const PluginOptions *options = &state->options;
	char	   *name;
	bool		sent;

	if (!options->include_origins && !options->exclude_origins)
		return true;
	if (origin == InvalidReplOriginId)
		name = pstrdup("");
	else if (!replorigin_by_oid(origin, true, &name))
		return options->include_origins == NIL; /* dropped: it has no name */
	sent = (!options->include_origins ||
			name_list_contains(options->include_origins, name)) &&
		!name_list_contains(options->exclude_origins, name);
	pfree(name);
	return sent;
}

static void
note_origin(PluginState *state, TransactionState *transaction,
			ReplOriginId origin)
{
	transaction->origin = origin;
	transaction->origin_excluded = !origin_is_sent(state, origin);
}

/*
 * An empty state.  That of the last transaction that ended is used again: most
 * sessions have one at a time.
 */
static TransactionState *
new_transaction(PluginState *state)
{
	TransactionState *transaction = state->spare_transaction;

	if (transaction == NULL)
		return MemoryContextAllocZero(state->context, sizeof(TransactionState));
	state->spare_transaction = NULL;
	memset(transaction, 0, sizeof(TransactionState));
	return transaction;
}

/*
 * transaction_start
 *		The state of a transaction or of the next piece of a streamed one, made
 *		if it is the first.
 */
TransactionState *
transaction_start(LogicalDecodingContext *ctx, ReorderBufferTXN *txn,
				  bool streamed)
{
	PluginState *state = plugin_state(ctx);
	TransactionState *transaction = txn->output_plugin_private;

	if (transaction == NULL)
	{
		transaction = new_transaction(state);
		txn->output_plugin_private = transaction;
		if (streamed)
		{
			transaction->begin_sent = true;
			transaction->stream = ++state->stream_count;
		}
	}
	/* a later piece of a streamed transaction may come without its origin */
	if (!streamed || txn->origin_id != InvalidReplOriginId)
		note_origin(state, transaction, txn->origin_id);
	if (state->options.value_format == VALUE_FORMAT_CANONICAL)
		set_canonical_format();
	return transaction;
}

/*
 * transaction_end
 *		Frees the state of a transaction that has ended, if it has any.
 *
 * What it was told has been dropped, see told_end().
 */
void
transaction_end(PluginState *state, ReorderBufferTXN *txn)
{
	TransactionState *transaction = txn->output_plugin_private;

	if (transaction == NULL)
		return;
	txn->output_plugin_private = NULL;
	if (state->spare_transaction)
		pfree(transaction);
	else
		state->spare_transaction = transaction;
}

/*
 * progress_is_due
 *		Is a transaction that has nothing to send sent all the same, by option
 *		progress_interval?
 *
 * So that a client which confirms what it receives can confirm something, long
 * before the WAL that the slot keeps fills the disk.
 */
bool
progress_is_due(PluginState *state, ReorderBufferTXN *txn)
{
	uint64		interval = state->options.progress_interval;

	return interval > 0 && txn->end_lsn > state->sent_up_to &&
		txn->end_lsn - state->sent_up_to >= interval;
}

/*
 * origin_is_wanted
 *		May what has this replication origin be sent, by options
 *		include_origins and exclude_origins?
 *
 * "txn" is the transaction, or a part of it.  Its last origin is remembered:
 * changes mostly have the same one, and a streamed Message has none of its own.
 */
bool
origin_is_wanted(PluginState *state, ReorderBufferTXN *txn,
				 ReplOriginId origin)
{
	TransactionState *transaction;

	if (!state->options.include_origins && !state->options.exclude_origins)
		return true;
	transaction = transaction_of(txn);
	if (origin == InvalidReplOriginId || transaction == NULL)
		return origin_is_sent(state, origin);
	if (origin != transaction->origin)
		note_origin(state, transaction, origin);
	return !transaction->origin_excluded;
}

/*
 * transaction_message_origin
 *		The replication origin of a transactional Message: the transaction's.
 *
 * While that is streamed, it may be known from changes only.
 */
ReplOriginId
transaction_message_origin(PluginState *state, ReorderBufferTXN *txn)
{
	ReplOriginId origin = rbtxn_get_toptxn(txn)->origin_id;

	if (origin == InvalidReplOriginId && state->in_streaming)
		origin = transaction_of(txn)->origin;
	return origin;
}
