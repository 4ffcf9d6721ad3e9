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
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/pg_lsn.h"
#include "utils/tuplestore.h"

#include "compat.h"
#include "reader/message_json.h"
#include "reader/slot_call.h"

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
	RowSink		sink;

	sink.store = begin_result(fcinfo, &sink.desc);
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

static void
fetch_one(void *portal)
{
	SPI_cursor_fetch(portal, true, 1);
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
		is_ext = check_slot_plugin(NameStr(*PG_GETARG_NAME(0)));

	SPI_connect();
	if (!PG_ARGISNULL(3))
		values[3] = complete_slot_options(PG_GETARG_ARRAYTYPE_P(3), is_ext,
										  &publications);

	callback.callback = publications_context;
	callback.arg = &publications;
	callback.previous = error_context_stack;
	error_context_stack = &callback;

	portal = SPI_cursor_open_with_args(NULL, query, 4, types, values, nulls,
									   false, CURSOR_OPT_NO_SCROLL);
	/* the server decodes everything now */
	in_database_encoding(fetch_one, portal);
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
