/*-------------------------------------------------------------------------
 *
 * reader.c
 *	  pgoutput_ext_peek, _get and _decode_stream: sequences of messages as rows.
 *
 * Called from SQL.  The rows go to a tuplestore in the query's context; what
 * one message needs lives in a context that is reset after it, and what the
 * stream has announced in a StreamState.
 *
 * Slots are read through the server's own functions, by SPI, so that its
 * permission checks, errors and locking hold.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "funcapi.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "replication/logicalproto.h"
#include "replication/slot.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/pg_lsn.h"
#include "utils/tuplestore.h"

#include "compat.h"
#include "reader/message_json.h"

/* the number of messages fetched at once adapts to their size */
#define MAX_BATCH_MESSAGES 256
#define BATCH_BYTES (1024 * 1024)

/* columns of the result: these, and those of a MessageRow behind them */
#define SLOT_COLUMNS 2			/* lsn, xid */
#define STREAM_COLUMNS 1		/* number */
#define ROW_COLUMNS 5

/* The rows of a set-returning function in the making. */
typedef struct RowSink
{
	Tuplestorestate *store;
	TupleDesc	desc;
	StreamState *state;
	MemoryContext per_message;
} RowSink;

COMPAT_FUNCTION_INFO_V1(pgoutput_ext_peek);
COMPAT_FUNCTION_INFO_V1(pgoutput_ext_get);
COMPAT_FUNCTION_INFO_V1(pgoutput_ext_decode_stream);

/* Makes the set that the function returns, in the query's context. */
static RowSink
start_rows(FunctionCallInfo fcinfo, bool in_stream)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	MemoryContext old;
	RowSink		sink;

	if (rsinfo == NULL || !IsA(rsinfo, ReturnSetInfo) ||
		(rsinfo->allowedModes & SFRM_Materialize) == 0)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("set-valued function called in context that cannot accept a set")));

	old = MemoryContextSwitchTo(rsinfo->econtext->ecxt_per_query_memory);
	if (get_call_result_type(fcinfo, NULL, &sink.desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	sink.store = tuplestore_begin_heap((rsinfo->allowedModes & SFRM_Materialize_Random) != 0,
									   false, work_mem);
	rsinfo->returnMode = SFRM_Materialize;
	rsinfo->setResult = sink.store;
	rsinfo->setDesc = sink.desc;
	MemoryContextSwitchTo(old);

	sink.state = stream_state_create(in_stream);
	sink.per_message = AllocSetContextCreate(CurrentMemoryContext,
											 "pgoutput_ext message",
											 ALLOCSET_DEFAULT_SIZES);
	return sink;
}

/*
 * Adds the row of one message.  The caller gives the "nfirst" columns in front
 * of the message's own in "values" and "nulls", which have room for all.
 */
static void
add_row(RowSink *sink, const char *data, Size length,
		Datum *values, bool *nulls, int nfirst)
{
	MemoryContext old = MemoryContextSwitchTo(sink->per_message);
	WireMessage message;
	MessageRow	row;

	if (sink->desc->natts != nfirst + ROW_COLUMNS)
		elog(ERROR, "function has %d result columns instead of %d",
			 sink->desc->natts, nfirst + ROW_COLUMNS);

	parse_message(data, length, sink->state->in_stream, &message);
	stream_state_note(sink->state, &message);
	row = describe_message(sink->state, &message);

	values += nfirst;
	nulls += nfirst;
	values[0] = CStringGetTextDatum(row.message);
	nulls[0] = false;
	if (!(nulls[1] = row.relation == NULL))
		values[1] = CStringGetTextDatum(row.relation);
	nulls[2] = row.old == NULL;
	values[2] = JsonbPGetDatum(row.old);
	nulls[3] = row.new == NULL;
	values[3] = JsonbPGetDatum(row.new);
	nulls[4] = row.detail == NULL;
	values[4] = JsonbPGetDatum(row.detail);
	tuplestore_putvalues(sink->store, sink->desc, values - nfirst,
						 nulls - nfirst);

	MemoryContextSwitchTo(old);
	MemoryContextReset(sink->per_message);
}

/* Frees what only the making of the rows needed. */
static void
finish_rows(RowSink *sink)
{
	MemoryContextDelete(sink->state->context);
	MemoryContextDelete(sink->per_message);
}

/*
 * Is the slot one of pgoutput_ext?  Another plugin's output than pgoutput's
 * would not be understood; ERROR 55000.
 */
static bool
check_plugin(const char *slot_name)
{
	ReplicationSlot *slot;
	NameData	plugin;
	Oid			database;

	LWLockAcquire(ReplicationSlotControlLock, LW_SHARED);
	slot = SearchNamedReplicationSlot(slot_name, false);
	if (slot != NULL)
	{
		SpinLockAcquire(&slot->mutex);
		plugin = slot->data.plugin;
		database = slot->data.database;
		SpinLockRelease(&slot->mutex);
	}
	LWLockRelease(ReplicationSlotControlLock);

	/* the server has its own words for a missing or physical slot */
	if (slot == NULL || !OidIsValid(database))
		return false;
	if (strcmp(NameStr(plugin), "pgoutput_ext") == 0)
		return true;
	if (strcmp(NameStr(plugin), "pgoutput") != 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("replication slot \"%s\" uses the output plugin \"%s\"",
						slot_name, NameStr(plugin)),
				 errdetail("Only the messages of pgoutput and pgoutput_ext can be read."),
				 errhint("Use pg_logical_slot_peek_changes or pg_logical_slot_get_changes for this slot.")));
	return false;
}

/*
 * All publications of the database, as publication_names wants them.  Inside
 * SPI; the result is in its context.
 */
static const char *
all_publications(void)
{
	bool		isnull;
	Datum		names;
	int			result;

	result = SPI_execute("SELECT pg_catalog.string_agg(pg_catalog.quote_ident(p.pubname::pg_catalog.text), ',' ORDER BY p.pubname)"
						 " FROM pg_catalog.pg_publication p", true, 0);
	if (result != SPI_OK_SELECT || SPI_processed != 1)
		elog(ERROR, "could not list the publications: %s",
			 SPI_result_code_string(result));

	names = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1,
						  &isnull);
	if (isnull)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("this database has no publication"),
				 errhint("Create a publication, or name those to be read with the option publication_names.")));
	return TextDatumGetCString(names);
}

/* Is there such an option in the list of names and values? */
static bool
has_option(Datum *options, int noptions, const char *name)
{
	for (int i = 0; i < noptions; i += 2)
		if (strcmp(TextDatumGetCString(options[i]), name) == 0)
			return true;
	return false;
}

/* Adds an option and its value to the list at *all, of *nall elements. */
static void
add_option(Datum *all, int *nall, const char *name, const char *value)
{
	all[(*nall)++] = CStringGetTextDatum(name);
	all[(*nall)++] = CStringGetTextDatum(value);
}

/*
 * The options with the defaults of those left out in front.  Inside SPI.
 * *publications is set to the default publication_names, if that was needed:
 * all there are now, of which some may not have existed at the slot's position,
 * and pgoutput_ext can be told not to mind.  A list that is none is left for
 * the server to complain about.
 */
static Datum
complete_options(ArrayType *given, bool is_ext, const char **publications)
{
	Datum	   *options;
	bool	   *nulls;
	int			noptions;
	Datum	   *all;
	int			nall = 0;

	if (ARR_NDIM(given) > 1 || array_contains_nulls(given))
		return PointerGetDatum(given);
	deconstruct_array(given, TEXTOID, -1, false, TYPALIGN_INT, &options,
					  &nulls, &noptions);
	if (noptions % 2 != 0)
		return PointerGetDatum(given);

	all = palloc(sizeof(Datum) * (noptions + 8));
	if (!has_option(options, noptions, "proto_version"))
		add_option(all, &nall, "proto_version",
				   CppAsString2(LOGICALREP_PROTO_MAX_VERSION_NUM));
	if (!has_option(options, noptions, "publication_names"))
	{
		*publications = all_publications();
		add_option(all, &nall, "publication_names", *publications);
		if (is_ext && !has_option(options, noptions, "missing_publication"))
			add_option(all, &nall, "missing_publication", "skip");
	}
	if (!has_option(options, noptions, "messages"))
		add_option(all, &nall, "messages", "true");
	memcpy(all + nall, options, sizeof(Datum) * noptions);
	return PointerGetDatum(construct_array(all, nall + noptions, TEXTOID, -1,
										   false, TYPALIGN_INT));
}

/*
 * The first fetch, in which the server decodes everything.  Its output plugins
 * convert text to the client's encoding, which the rows shown here are not in:
 * they are converted on their way to the client.  So for this time the client
 * has the server's encoding, and the old one again before an error is sent.
 */
static void
fetch_first(Portal portal)
{
	int			nestlevel;

	if (pg_get_client_encoding() == GetDatabaseEncoding())
	{
		SPI_cursor_fetch(portal, true, 1);
		return;
	}

	nestlevel = NewGUCNestLevel();
	PG_TRY();
	{
		(void) set_config_option("client_encoding", GetDatabaseEncodingName(),
								 PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE,
								 true, 0, false);
		SPI_cursor_fetch(portal, true, 1);
	}
	PG_CATCH();
	{
		AtEOXact_GUC(false, nestlevel);
		PG_RE_THROW();
	}
	PG_END_TRY();
	AtEOXact_GUC(true, nestlevel);
}

/* Adds the rows of the messages that SPI has fetched; returns their bytes. */
static Size
add_fetched(RowSink *sink)
{
	Size		bytes = 0;

	for (uint64 i = 0; i < SPI_processed; i++)
	{
		HeapTuple	tuple = SPI_tuptable->vals[i];
		TupleDesc	desc = SPI_tuptable->tupdesc;
		Datum		values[SLOT_COLUMNS + ROW_COLUMNS];
		bool		nulls[SLOT_COLUMNS + ROW_COLUMNS];
		bool		isnull;
		bytea	   *data;

		values[0] = SPI_getbinval(tuple, desc, 1, &nulls[0]);
		values[1] = SPI_getbinval(tuple, desc, 2, &nulls[1]);
		data = DatumGetByteaPP(SPI_getbinval(tuple, desc, 3, &isnull));
		add_row(sink, VARDATA_ANY(data), VARSIZE_ANY_EXHDR(data),
				values, nulls, SLOT_COLUMNS);
		bytes += VARSIZE_ANY_EXHDR(data);
		CHECK_FOR_INTERRUPTS();
	}
	SPI_freetuptable(SPI_tuptable);
	return bytes;
}

static void
publications_context(void *arg)
{
	const char *const *publications = arg;

	if (*publications != NULL)
		errcontext("reading all publications, since the option publication_names is not given: %s",
				   *publications);
}

/* Reads the slot named in the arguments with one of the server's functions. */
static Datum
read_slot(FunctionCallInfo fcinfo, const char *query)
{
	RowSink		sink = start_rows(fcinfo, false);
	Oid			types[] = {NAMEOID, PG_LSNOID, INT4OID, TEXTARRAYOID};
	Datum		values[4];
	char		nulls[4];
	const char *publications = NULL;
	ErrorContextCallback callback;
	Portal		portal;
	long		batch = 1;
	bool		is_ext = false;

	for (int i = 0; i < 4; i++)
	{
		values[i] = PG_GETARG_DATUM(i);
		nulls[i] = PG_ARGISNULL(i) ? 'n' : ' ';
	}
	if (!PG_ARGISNULL(0))
		is_ext = check_plugin(NameStr(*PG_GETARG_NAME(0)));

	SPI_connect();
	if (!PG_ARGISNULL(3))
		values[3] = complete_options(PG_GETARG_ARRAYTYPE_P(3), is_ext,
									 &publications);

	callback.callback = publications_context;
	callback.arg = &publications;
	callback.previous = error_context_stack;
	error_context_stack = &callback;

	portal = SPI_cursor_open_with_args(NULL, query, 4, types, values, nulls,
									   false, CURSOR_OPT_NO_SCROLL);
	fetch_first(portal);
	error_context_stack = callback.previous;

	while (SPI_processed > 0)
	{
		if (add_fetched(&sink) < BATCH_BYTES)
			batch = Min(batch * 2, MAX_BATCH_MESSAGES);
		else
			batch = Max(batch / 2, 1);
		SPI_cursor_fetch(portal, true, batch);
	}
	SPI_cursor_close(portal);
	SPI_finish();
	finish_rows(&sink);
	return (Datum) 0;
}

/*
 * pgoutput_ext_peek(slot_name name, upto_lsn pg_lsn, upto_nchanges int,
 *					 VARIADIC options text[])
 *
 * The changes of a slot, one row per message, which stay in the slot.
 */
Datum
pgoutput_ext_peek(PG_FUNCTION_ARGS)
{
	return read_slot(fcinfo,
					 "SELECT s.lsn, s.xid, s.data"
					 " FROM pg_catalog.pg_logical_slot_peek_binary_changes($1, $2, $3, VARIADIC $4) s");
}

/*
 * pgoutput_ext_get(...): the same, and the slot moves on.
 */
Datum
pgoutput_ext_get(PG_FUNCTION_ARGS)
{
	return read_slot(fcinfo,
					 "SELECT s.lsn, s.xid, s.data"
					 " FROM pg_catalog.pg_logical_slot_get_binary_changes($1, $2, $3, VARIADIC $4) s");
}

static void
message_number_context(void *arg)
{
	errcontext("message number %d", *(int *) arg);
}

/*
 * pgoutput_ext_decode_stream(messages bytea[], streaming boolean)
 *
 * One row per message, numbered from 1, with names resolved.  "streaming": the
 * first message stands between Stream Start and Stream Stop.
 */
Datum
pgoutput_ext_decode_stream(PG_FUNCTION_ARGS)
{
	ArrayType  *array = PG_GETARG_ARRAYTYPE_P(0);
	RowSink		sink = start_rows(fcinfo, PG_GETARG_BOOL(1));
	ErrorContextCallback callback;
	Datum	   *messages;
	bool	   *isnull;
	int			nmessages;
	int			number;

	deconstruct_array(array, BYTEAOID, -1, false, TYPALIGN_INT, &messages,
					  &isnull, &nmessages);

	callback.callback = message_number_context;
	callback.arg = &number;
	callback.previous = error_context_stack;
	error_context_stack = &callback;

	for (number = 1; number <= nmessages; number++)
	{
		Datum		values[STREAM_COLUMNS + ROW_COLUMNS];
		bool		nulls[STREAM_COLUMNS + ROW_COLUMNS] = {false};
		bytea	   *data;

		if (isnull[number - 1])
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("message must not be null")));
		data = DatumGetByteaPP(messages[number - 1]);
		values[0] = Int32GetDatum(number);
		add_row(&sink, VARDATA_ANY(data), VARSIZE_ANY_EXHDR(data),
				values, nulls, STREAM_COLUMNS);
		CHECK_FOR_INTERRUPTS();
	}

	error_context_stack = callback.previous;
	finish_rows(&sink);
	return (Datum) 0;
}
