/*-------------------------------------------------------------------------
 *
 * transaction.c
 *	  Transactions as the client sees them: what it was told in each.
 *
 * Called by the callbacks in pgoutput_ext.c.  A transaction's state lives in
 * the session's context, from its first callback to its last one.
 *
 * A client learns of a relation once, from Relation and Type messages, and
 * again after the relation changed.  What it learns inside a streamed
 * transaction counts when that commits: until then each streamed transaction
 * is told for itself, and after an abort of any part of it again.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "catalog/pg_type.h"
#include "utils/float.h"
#include "utils/guc.h"
#include "utils/memutils.h"

#include "compat.h"
#include "metadata.h"
#include "oid_table.h"
#include "pattern.h"
#include "transaction.h"

typedef struct CanonicalSetting
{
	const char *name;
	const char *value;
} CanonicalSetting;

/*
 * Settings that text values depend on, and what "canonical" makes of them.
 * Names of objects, as regclass and its kin show them, get their schema.
 */
static const CanonicalSetting canonical_settings[] = {
	{"DateStyle", "ISO"},
	{"IntervalStyle", "postgres"},
	{"TimeZone", "UTC"},
	{"bytea_output", "hex"},
	{"lc_monetary", "C"},
	{"xmlbinary", "base64"},
	{"search_path", "pg_catalog, pg_temp"},
	{"quote_all_identifiers", "off"},
};

/* Is a setting what "canonical" makes of it? */
static bool
setting_is_canonical(const char *current, const char *value)
{
	size_t		length = strlen(value);

	if (strcmp(current, value) == 0)
		return true;
	/* DateStyle has the order of input behind the style */
	return strcmp(value, "ISO") == 0 &&
		strncmp(current, value, length) == 0 && current[length] == ',';
}

/*
 * set_canonical_format
 *		Makes the settings canonical until the end of the (sub)transaction that
 *		the server decodes in, or of an inner level of settings; that takes
 *		them back, also after an error.
 */
void
set_canonical_format(void)
{
	for (int i = 0; i < lengthof(canonical_settings); i++)
	{
		const char *name = canonical_settings[i].name;
		const char *value = canonical_settings[i].value;

		if (!setting_is_canonical(GetConfigOption(name, false, false), value))
			(void) set_config_option(name, value, PGC_USERSET, PGC_S_SESSION,
									 GUC_ACTION_SAVE, true, 0, false);
	}
	if (extra_float_digits < 1)
		(void) set_config_option("extra_float_digits", "1", PGC_USERSET,
								 PGC_S_SESSION, GUC_ACTION_SAVE, true, 0,
								 false);
}

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

/* Frees the state of a transaction that has ended, if it has any. */
void
transaction_end(PluginState *state, ReorderBufferTXN *txn)
{
	TransactionState *transaction = txn->output_plugin_private;

	if (transaction == NULL)
		return;
	txn->output_plugin_private = NULL;
	if (transaction->told)
		metadata_end_stream(transaction);
	if (transaction->announced)
		oid_table_destroy(transaction->announced);
	if (state->spare_transaction)
		pfree(transaction);
	else
		state->spare_transaction = transaction;
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
 * transaction_send_origin
 *		Sends Origin behind the message that is being written, if the
 *		transaction has an origin that still exists.
 *
 * The caller has prepared a write and ends it after this.
 */
void
transaction_send_origin(LogicalDecodingContext *ctx, ReorderBufferTXN *txn,
						XLogRecPtr lsn)
{
	char	   *name;

	if (txn->origin_id == InvalidReplOriginId ||
		!replorigin_by_oid(txn->origin_id, true, &name))
		return;
	OutputPluginWrite(ctx, false);
	OutputPluginPrepareWrite(ctx, true);
	message_origin(ctx->out, name, lsn);
	pfree(name);
}

/*
 * transaction_send_begin
 *		Sends Begin, and Origin, unless that has been done.
 *
 * Does nothing for prepared and for streamed transactions, which have told
 * the client already.
 */
void
transaction_send_begin(LogicalDecodingContext *ctx, ReorderBufferTXN *txn)
{
	TransactionState *transaction = transaction_of(txn);

	if (transaction == NULL || transaction->begin_sent)
		return;
	OutputPluginPrepareWrite(ctx, txn->origin_id == InvalidReplOriginId);
	message_begin(ctx->out, txn);
	transaction->begin_sent = true;
	transaction_send_origin(ctx, txn, txn->origin_lsn);
	OutputPluginWrite(ctx, true);
	metadata_transaction(ctx, txn);
}

/* Sends Type for each column of a type that is not built in, then Relation. */
static void
send_relation(LogicalDecodingContext *ctx, ReorderBufferTXN *subtxn,
			  Relation relation, const ColumnSet *columns, Relation root)
{
	TransactionId xid = streamed_xid(plugin_state(ctx), subtxn);
	TupleDesc	desc = RelationGetDescr(relation);

	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);

		if (att->atttypid < FirstGenbkiObjectId ||
			!column_is_sent(att, columns))
			continue;
		OutputPluginPrepareWrite(ctx, false);
		message_type(ctx->out, xid, att->atttypid);
		OutputPluginWrite(ctx, false);
		metadata_type(ctx, subtxn, att->atttypid);
	}

	OutputPluginPrepareWrite(ctx, false);
	message_relation(ctx->out, xid, relation, columns);
	OutputPluginWrite(ctx, false);
	metadata_relation(ctx, subtxn, relation, columns, root);
}

/*
 * Has a streamed transaction been told of a relation?  Its table has those
 * that it was told, with the version that this is good for.
 */
static bool
stream_was_told(TransactionState *transaction, KnownRelation *known)
{
	OidTableEntry *entry;

	if (known->told.stream == transaction->stream)
		return true;
	if (transaction->announced == NULL)
		return false;
	entry = oid_table_lookup(transaction->announced, known->relid);
	if (entry == NULL || entry->number != known->told.version)
		return false;
	known->told.stream = transaction->stream;
	return true;
}

static void
remember_told(PluginState *state, TransactionState *transaction,
			  KnownRelation *known)
{
	OidTableEntry *entry;
	bool		found;

	if (transaction->announced == NULL)
		transaction->announced = oid_table_create(state->context,
												  OID_TABLE_START, NULL);
	entry = oid_table_insert(transaction->announced, known->relid, &found);
	entry->object = &known->told;
	entry->number = known->told.version;
	known->told.stream = transaction->stream;
}

/*
 * transaction_announce
 *		Tells the client of a relation, unless it knows.
 *
 * "subtxn" is the (sub)transaction of the change.  If changes are announced
 * as those of another relation, the client is told of that first and then of
 * the relation itself, like pgoutput does.
 */
void
transaction_announce(LogicalDecodingContext *ctx, ReorderBufferTXN *subtxn,
					 RelationPlan *plan, Relation relation)
{
	PluginState *state = plugin_state(ctx);
	TransactionState *transaction = NULL;
	bool		announced;

	if (state->in_streaming)
	{
		transaction = transaction_of(subtxn);
		announced = stream_was_told(transaction, plan->known);
	}
	else
		announced = plan->known->told.told;
	metadata_changed(ctx, subtxn, plan, announced);
	if (announced)
		return;

	if (plan->announced_as != plan->relid)
	{
		Relation	root = RelationIdGetRelation(plan->announced_as);

		if (!RelationIsValid(root))
			elog(ERROR, "could not open relation with OID %u",
				 plan->announced_as);
		send_relation(ctx, subtxn, root, &plan->columns, root);
		send_relation(ctx, subtxn, relation, &plan->own_columns, root);
		RelationClose(root);
	}
	else
		send_relation(ctx, subtxn, relation, &plan->columns, NULL);

	if (state->in_streaming)
		remember_told(state, transaction, plan->known);
	else
		plan->known->told.told = true;
}

/*
 * stream_committed
 *		What a streamed transaction was told, the client knows from now on.
 *
 * Relations that have changed since are announced again all the same.
 */
void
stream_committed(PluginState *state, ReorderBufferTXN *txn)
{
	TransactionState *transaction = transaction_of(txn);
	oid_table_iterator iterator;
	OidTableEntry *entry;

	if (transaction == NULL || transaction->announced == NULL)
		return;
	oid_table_start_iterate(transaction->announced, &iterator);
	while ((entry = oid_table_iterate(transaction->announced, &iterator)) != NULL)
	{
		ToldRelation *told = entry->object;

		if (told->version == entry->number)
			told->told = true;
	}
}

/*
 * stream_aborted
 *		The client forgets what a streamed transaction was told when any part
 *		of it aborts.
 */
void
stream_aborted(PluginState *state, ReorderBufferTXN *txn)
{
	TransactionState *transaction = transaction_of(txn);

	if (transaction == NULL)
		return;
	if (transaction->announced)
		oid_table_destroy(transaction->announced);
	transaction->announced = NULL;
	if (transaction->told)
		metadata_forget_stream(transaction);
	transaction->stream = ++state->stream_count;
}
