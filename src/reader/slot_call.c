/*-------------------------------------------------------------------------
 *
 * slot_call.c
 *	  What the SQL functions that read a slot have in common.
 *
 * Called by reader.c and traffic.c at the start of a call, in the context of
 * the call.
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
#include "utils/tuplestore.h"

#include "reader/slot_call.h"

Tuplestorestate *
begin_result(FunctionCallInfo fcinfo, TupleDesc *desc)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	MemoryContext old;
	Tuplestorestate *store;

	if (rsinfo == NULL || !IsA(rsinfo, ReturnSetInfo) ||
		(rsinfo->allowedModes & SFRM_Materialize) == 0)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("set-valued function called in context that cannot accept a set")));

	old = MemoryContextSwitchTo(rsinfo->econtext->ecxt_per_query_memory);
	if (get_call_result_type(fcinfo, NULL, desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	store = tuplestore_begin_heap((rsinfo->allowedModes & SFRM_Materialize_Random) != 0,
								  false, work_mem);
	rsinfo->returnMode = SFRM_Materialize;
	rsinfo->setResult = store;
	rsinfo->setDesc = *desc;
	MemoryContextSwitchTo(old);
	return store;
}

bool
check_slot_plugin(const char *slot_name)
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

Datum
complete_slot_options(ArrayType *given, bool is_ext, const char **publications)
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

void
publications_context(void *arg)
{
	const char *const *publications = arg;

	if (*publications != NULL)
		errcontext("reading all publications, since the option publication_names is not given: %s",
				   *publications);
}

void
in_database_encoding(void (*decode) (void *arg), void *arg)
{
	int			nestlevel;

	if (pg_get_client_encoding() == GetDatabaseEncoding())
	{
		decode(arg);
		return;
	}

	nestlevel = NewGUCNestLevel();
	PG_TRY();
	{
		(void) set_config_option("client_encoding", GetDatabaseEncodingName(),
								 PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE,
								 true, 0, false);
		decode(arg);
	}
	PG_CATCH();
	{
		AtEOXact_GUC(false, nestlevel);
		PG_RE_THROW();
	}
	PG_END_TRY();
	AtEOXact_GUC(true, nestlevel);
}
