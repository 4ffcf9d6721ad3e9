/*-------------------------------------------------------------------------
 *
 * traffic.c
 *	  pgoutput_ext_traffic: what a slot has waiting, by relation.
 *
 * Called from SQL.  The slot is decoded as the server's peek function does, but
 * for the write callback, which counts each message and forgets it.  So memory
 * grows with the relations, and with the relations of each open streamed
 * transaction, never with the changes.  All that is counted lives in a context
 * of the call.
 *
 * Nothing is given away but counts, so that a slot that can take part in a
 * failover does not wait for its standbys, as it does before changes are read.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xlogutils.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "replication/decode.h"
#include "replication/logical.h"
#include "replication/slot.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/pg_lsn.h"
#include "utils/resowner.h"

#include "compat.h"
#include "reader/message_json.h"
#include "reader/slot_call.h"

#define TRAFFIC_COLUMNS 12

/* One row's figures. */
typedef struct TrafficCounts
{
	int64		inserts;
	int64		updates;
	int64		deletes;
	int64		truncates;
	int64		transactions;
	int64		messages;
	int64		bytes;
	int64		largest;
} TrafficCounts;

typedef struct TrafficEntry
{
	Oid			oid;			/* hash key; 0: the Messages */
	char	   *namespace;		/* as last announced */
	char	   *name;
	uint64		last_transaction;	/* that was counted here */
	TrafficCounts counts;
} TrafficEntry;

typedef struct TouchedKey
{
	TransactionId xid;
	Oid			oid;
} TouchedKey;

/* A streamed transaction was counted for the relation. */
typedef struct TouchedEntry
{
	TouchedKey	key;			/* hash key */
	struct TouchedEntry *next;	/* of the transaction */
} TouchedEntry;

typedef struct OpenStream
{
	TransactionId xid;			/* hash key */
	uint64		number;			/* of the transaction */
	TouchedEntry *touched;
} OpenStream;

typedef struct Traffic
{
	MemoryContext context;
	HTAB	   *entries;
	HTAB	   *streams;
	HTAB	   *touched;
	TrafficEntry *last;			/* the one asked for last, or NULL */
	TrafficCounts other;		/* what belongs to no relation */
	int64		messages;		/* all of them */
	uint64		transactions;	/* numbered from 1 */
	uint64		transaction;	/* number of the one at hand */
	OpenStream *stream;			/* between Stream Start and Stream Stop */
} Traffic;

typedef struct TrafficCall
{
	const char *slot_name;
	XLogRecPtr	upto_lsn;		/* 0: no limit */
	int32		upto_nchanges;	/* 0: no limit */
	List	   *options;
	const char *publications;	/* NULL: they were named */
	Traffic    *traffic;
} TrafficCall;

COMPAT_FUNCTION_INFO_V1(pgoutput_ext_traffic);

/* ---- counting ---- */

static HTAB *
create_table(Traffic *traffic, const char *name, Size keysize, Size entrysize)
{
	HASHCTL		control = {0};

	control.keysize = keysize;
	control.entrysize = entrysize;
	control.hcxt = traffic->context;
	return hash_create(name, 64, &control,
					   HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
}

static Traffic *
create_traffic(void)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "pgoutput_ext traffic",
												  ALLOCSET_DEFAULT_SIZES);
	Traffic    *traffic = MemoryContextAllocZero(context, sizeof(Traffic));

	traffic->context = context;
	traffic->entries = create_table(traffic, "relations", sizeof(Oid),
									sizeof(TrafficEntry));
	traffic->streams = create_table(traffic, "open streams",
									sizeof(TransactionId), sizeof(OpenStream));
	traffic->touched = create_table(traffic, "relations of open streams",
									sizeof(TouchedKey), sizeof(TouchedEntry));
	return traffic;
}

static TrafficEntry *
traffic_entry(Traffic *traffic, Oid oid)
{
	TrafficEntry *entry = traffic->last;
	bool		found;

	if (entry != NULL && entry->oid == oid)
		return entry;
	entry = hash_search(traffic->entries, &oid, HASH_ENTER, &found);
	if (!found)
	{
		memset(entry, 0, sizeof(TrafficEntry));
		entry->oid = oid;
	}
	traffic->last = entry;
	return entry;
}

static void
count_message(TrafficCounts *counts, Size length)
{
	counts->messages++;
	counts->bytes += length;
	counts->largest = Max(counts->largest, (int64) length);
}

/*
 * Counts the transaction at hand, once.  Only where streams take turns is the
 * last one that was counted another one than this.
 */
static void
count_transaction(Traffic *traffic, TrafficEntry *entry)
{
	if (entry->last_transaction == traffic->transaction)
		return;
	entry->last_transaction = traffic->transaction;
	if (traffic->stream != NULL)
	{
		TouchedKey	key = {traffic->stream->xid, entry->oid};
		bool		found;
		TouchedEntry *touched = hash_search(traffic->touched, &key, HASH_ENTER,
											&found);

		if (found)
			return;
		touched->next = traffic->stream->touched;
		traffic->stream->touched = touched;
	}
	entry->counts.transactions++;
}

static void
begin_transaction(Traffic *traffic)
{
	traffic->transaction = ++traffic->transactions;
	traffic->other.transactions++;
}

static void
start_stream(Traffic *traffic, TransactionId xid)
{
	bool		found;

	traffic->stream = hash_search(traffic->streams, &xid, HASH_ENTER, &found);
	if (!found)
	{
		begin_transaction(traffic);
		traffic->stream->number = traffic->transaction;
		traffic->stream->touched = NULL;
	}
	traffic->transaction = traffic->stream->number;
}

/* A streamed transaction has ended in whatever way. */
static void
forget_stream(Traffic *traffic, TransactionId xid)
{
	OpenStream *stream = hash_search(traffic->streams, &xid, HASH_FIND, NULL);

	if (stream == NULL)
		return;
	while (stream->touched != NULL)
	{
		TouchedEntry *touched = stream->touched;
		TouchedKey	key = touched->key;

		stream->touched = touched->next;
		(void) hash_search(traffic->touched, &key, HASH_REMOVE, NULL);
	}
	(void) hash_search(traffic->streams, &xid, HASH_REMOVE, NULL);
}

static void
keep_name(Traffic *traffic, char **kept, const char *name)
{
	if (*kept != NULL && strcmp(*kept, name) == 0)
		return;
	if (*kept != NULL)
		pfree(*kept);
	*kept = NULL;
	*kept = MemoryContextStrdup(traffic->context, name);
}

/* Relation: its names follow the OID. */
static void
note_relation(Traffic *traffic, TrafficEntry *entry, const WireField *oid)
{
	const char *namespace = (const char *) oid[1].data;

	keep_name(traffic, &entry->namespace,
			  namespace[0] == '\0' ? "pg_catalog" : namespace);
	keep_name(traffic, &entry->name, (const char *) oid[2].data);
}

/* Truncate: the bytes go to the first of its relations. */
static TrafficCounts *
count_truncate(Traffic *traffic, const WireMessage *message)
{
	const WireField *relations = wire_field(message, WIRE_RELATIONS);
	WireCursor	cursor = wire_first(relations);
	TrafficCounts *first = &traffic->other;

	for (uint64 i = 0; i < relations->number; i++)
	{
		TrafficEntry *entry = traffic_entry(traffic, wire_next_oid(&cursor));

		entry->counts.truncates++;
		count_transaction(traffic, entry);
		if (i == 0)
			first = &entry->counts;
	}
	return first;
}

/* A message that has a relation; "entry" is that relation's. */
static void
count_change(Traffic *traffic, TrafficEntry *entry, char type)
{
	if (type == 'I')
		entry->counts.inserts++;
	else if (type == 'U')
		entry->counts.updates++;
	else
		entry->counts.deletes++;
	count_transaction(traffic, entry);
}

static void
note_message(Traffic *traffic, const char *data, Size length)
{
	WireMessage message;
	TrafficEntry *entry;
	TrafficCounts *counts = &traffic->other;
	const WireField *oid;
	const WireField *xid;

	parse_message_head(data, length, traffic->stream != NULL, &message);
	switch (message.spec->type)
	{
		case 'I':
		case 'U':
		case 'D':
			oid = wire_field(&message, WIRE_OID);
			entry = traffic_entry(traffic, (Oid) oid->number);
			count_change(traffic, entry, message.spec->type);
			counts = &entry->counts;
			break;
		case 'R':
			oid = wire_field(&message, WIRE_OID);
			entry = traffic_entry(traffic, (Oid) oid->number);
			note_relation(traffic, entry, oid);
			counts = &entry->counts;
			break;
		case 'T':
			counts = count_truncate(traffic, &message);
			break;
		case 'M':
			entry = traffic_entry(traffic, InvalidOid);
			/* one that is not transactional is in no transaction */
			if (wire_field(&message, WIRE_FLAG)->number != 0)
				count_transaction(traffic, entry);
			counts = &entry->counts;
			break;
		case 'B':
		case 'b':
			begin_transaction(traffic);
			break;
		case 'S':
			start_stream(traffic, (TransactionId) wire_field(&message, WIRE_XID)->number);
			break;
		case 'E':
			traffic->stream = NULL;
			break;
		case 'A':
			/* the first xid is the transaction's, the second what is aborted */
			xid = wire_field(&message, WIRE_XID);
			if (xid[0].number == xid[1].number)
				forget_stream(traffic, (TransactionId) xid->number);
			break;
		case 'c':
		case 'p':
			forget_stream(traffic, (TransactionId) wire_field(&message, WIRE_XID)->number);
			break;
		default:
			break;
	}
	traffic->messages++;
	count_message(counts, length);
}

/* ---- decoding ---- */

static void
prepare_write(LogicalDecodingContext *ctx, XLogRecPtr lsn, TransactionId xid,
			  bool last_write)
{
	resetStringInfo(ctx->out);
}

static void
write_message(LogicalDecodingContext *ctx, XLogRecPtr lsn, TransactionId xid,
			  bool last_write)
{
	note_message(ctx->output_writer_private, ctx->out->data, ctx->out->len);
	CHECK_FOR_INTERRUPTS();
}

/* Decodes up to the end of WAL as it is now, or to one of the limits. */
static void
decode_records(TrafficCall *call, LogicalDecodingContext *ctx,
			   XLogRecPtr end_of_wal)
{
	XLogBeginRead(ctx->reader, MyReplicationSlot->data.restart_lsn);
	while (ctx->reader->EndRecPtr < end_of_wal)
	{
		char	   *error = NULL;
		XLogRecord *record = XLogReadRecord(ctx->reader, &error);

		if (error != NULL)
			elog(ERROR, "could not find record for logical decoding: %s", error);
		if (record != NULL)
			LogicalDecodingProcessRecord(ctx, ctx->reader);
		if (call->upto_lsn != InvalidXLogRecPtr &&
			call->upto_lsn <= ctx->reader->EndRecPtr)
			break;
		if (call->upto_nchanges != 0 &&
			call->upto_nchanges <= call->traffic->messages)
			break;
		CHECK_FOR_INTERRUPTS();
	}
}

/*
 * Reads the slot.  After an error it is released here, since a subtransaction
 * may catch it: a function that looks at all slots goes on with the next.
 */
static void
read_traffic(void *arg)
{
	TrafficCall *call = arg;
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	XLogRecPtr	end_of_wal = compat_end_of_wal();

	compat_acquire_slot(call->slot_name);
	PG_TRY();
	{
		LogicalDecodingContext *ctx;

		/* it may be another one by now */
		(void) check_slot_plugin(call->slot_name);
		ctx = CreateDecodingContext(InvalidXLogRecPtr, call->options, false,
									XL_ROUTINE(.page_read = read_local_xlog_page,
											   .segment_open = wal_segment_open,
											   .segment_close = wal_segment_close),
									prepare_write, write_message, NULL);
		MemoryContextSwitchTo(context);
		ctx->output_writer_private = call->traffic;

		/* decoding looks at catalogs as they were, and changes the owner */
		InvalidateSystemCaches();
		decode_records(call, ctx, end_of_wal);
		CurrentResourceOwner = owner;
		FreeDecodingContext(ctx);
		ReplicationSlotRelease();
		InvalidateSystemCaches();
	}
	PG_CATCH();
	{
		InvalidateSystemCaches();
		if (MyReplicationSlot != NULL)
			ReplicationSlotRelease();
		PG_RE_THROW();
	}
	PG_END_TRY();
}

/* The options as the server gives them to a plugin, with its errors. */
static List *
option_list(ArrayType *array)
{
	Datum	   *options;
	bool	   *nulls;
	int			noptions;
	List	   *list = NIL;

	if (ARR_NDIM(array) > 1)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("array must be one-dimensional")));
	if (array_contains_nulls(array))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("array must not contain nulls")));
	deconstruct_array(array, TEXTOID, -1, false, TYPALIGN_INT, &options,
					  &nulls, &noptions);
	if (noptions % 2 != 0)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("array must have even number of elements")));
	for (int i = 0; i < noptions; i += 2)
		list = lappend(list,
					   makeDefElem(TextDatumGetCString(options[i]),
								   (Node *) makeString(TextDatumGetCString(options[i + 1])),
								   -1));
	return list;
}

/* Fills in the options of the call, in the current context. */
static void
read_options(TrafficCall *call, ArrayType *given)
{
	MemoryContext context = CurrentMemoryContext;
	bool		is_ext = check_slot_plugin(call->slot_name);
	const char *publications = NULL;
	Datum		options;

	SPI_connect();
	options = complete_slot_options(given, is_ext, &publications);
	MemoryContextSwitchTo(context);
	call->options = option_list(DatumGetArrayTypeP(options));
	if (publications != NULL)
		call->publications = pstrdup(publications);
	SPI_finish();
}

/* ---- the rows ---- */

/* Most bytes first; what has as many, by name. */
static int
compare_entries(const void *a, const void *b)
{
	const TrafficEntry *x = *(TrafficEntry *const *) a;
	const TrafficEntry *y = *(TrafficEntry *const *) b;
	int			result;

	if (x->counts.bytes != y->counts.bytes)
		return x->counts.bytes > y->counts.bytes ? -1 : 1;
	if (x->name != NULL && y->name != NULL)
	{
		result = strcmp(x->namespace, y->namespace);
		if (result == 0)
			result = strcmp(x->name, y->name);
		if (result != 0)
			return result;
	}
	return x->oid < y->oid ? -1 : x->oid > y->oid;
}

static void
put_row(Tuplestorestate *store, TupleDesc desc, const char *kind,
		const TrafficEntry *entry, const TrafficCounts *counts)
{
	Datum		values[TRAFFIC_COLUMNS];
	bool		nulls[TRAFFIC_COLUMNS] = {false};
	int64		numbers[] = {counts->inserts, counts->updates,
		counts->deletes, counts->truncates, counts->transactions,
	counts->messages, counts->bytes, counts->largest};

	values[0] = CStringGetTextDatum(kind);
	if (!(nulls[1] = entry == NULL || entry->namespace == NULL))
		values[1] = CStringGetTextDatum(entry->namespace);
	if (!(nulls[2] = entry == NULL || entry->name == NULL))
		values[2] = CStringGetTextDatum(entry->name);
	if (!(nulls[3] = entry == NULL || !OidIsValid(entry->oid)))
		values[3] = ObjectIdGetDatum(entry->oid);
	for (int i = 0; i < lengthof(numbers); i++)
		values[4 + i] = Int64GetDatum(numbers[i]);
	tuplestore_putvalues(store, desc, values, nulls);
}

static void
put_rows(Traffic *traffic, Tuplestorestate *store, TupleDesc desc)
{
	long		nentries = hash_get_num_entries(traffic->entries);
	TrafficEntry **entries = palloc_extended(sizeof(TrafficEntry *) * Max(nentries, 1),
											 MCXT_ALLOC_HUGE);
	HASH_SEQ_STATUS status;
	TrafficEntry *entry;
	long		n = 0;

	hash_seq_init(&status, traffic->entries);
	while ((entry = hash_seq_search(&status)) != NULL)
		entries[n++] = entry;
	qsort(entries, n, sizeof(TrafficEntry *), compare_entries);
	for (long i = 0; i < n; i++)
		put_row(store, desc, OidIsValid(entries[i]->oid) ? "table" : "message",
				entries[i], &entries[i]->counts);
	if (traffic->other.messages > 0)
		put_row(store, desc, "other", NULL, &traffic->other);
}

/*
 * pgoutput_ext_traffic(slot_name name, upto_lsn pg_lsn, upto_nchanges int,
 *						VARIADIC options text[])
 */
Datum
pgoutput_ext_traffic(PG_FUNCTION_ARGS)
{
	TrafficCall call = {0};
	ErrorContextCallback callback;
	Tuplestorestate *store;
	TupleDesc	desc;

	compat_check_decoding_allowed();
	if (PG_ARGISNULL(0))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("slot name must not be null")));
	if (PG_ARGISNULL(3))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("options array must not be null")));
	store = begin_result(fcinfo, &desc);
	if (desc->natts != TRAFFIC_COLUMNS)
		elog(ERROR, "function has %d result columns instead of %d",
			 desc->natts, TRAFFIC_COLUMNS);

	call.slot_name = NameStr(*PG_GETARG_NAME(0));
	if (!PG_ARGISNULL(1))
		call.upto_lsn = PG_GETARG_LSN(1);
	if (!PG_ARGISNULL(2))
		call.upto_nchanges = PG_GETARG_INT32(2);
	read_options(&call, PG_GETARG_ARRAYTYPE_P(3));
	call.traffic = create_traffic();

	callback.callback = publications_context;
	callback.arg = &call.publications;
	callback.previous = error_context_stack;
	error_context_stack = &callback;
	in_database_encoding(read_traffic, &call);
	error_context_stack = callback.previous;

	put_rows(call.traffic, store, desc);
	MemoryContextDelete(call.traffic->context);
	return (Datum) 0;
}
