/*-------------------------------------------------------------------------
 *
 * publication_missing.c
 *	  What becomes of a named publication that does not exist as of the change.
 *
 * Called by publication.c when it loads the named publications, under the
 * historic snapshot of the change, in the context of their list.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/commit_ts.h"
#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/transam.h"
#include "access/xlog.h"
#include "catalog/indexing.h"
#include "catalog/pg_publication.h"
#include "replication/slot.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "options/pattern.h"
#include "relations/publication_missing.h"

/* When a transaction committed, for people; "" if the server does not know. */
static char *
commit_time(TransactionId xid)
{
	TimestampTz time;

	/* on a standby the setting says nothing of what there is */
	if (!track_commit_timestamp || RecoveryInProgress() ||
		!TransactionIdIsNormal(xid) ||
		!TransactionIdGetCommitTsData(xid, &time, NULL))
		return "";
	return psprintf(", committed at %s", timestamptz_to_str(time));
}

/*
 * Says since when a publication exists that did not as of the change, as the
 * beginning of a hint.  This is for the text of an error alone, and looks at
 * the catalog as it is now.
 */
static char *
existence_now(const char *name)
{
	Relation	catalog = table_open(PublicationRelationId, AccessShareLock);
	Snapshot	snapshot;
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;
	char	   *result;

	ScanKeyInit(&key, Anum_pg_publication_pubname, BTEqualStrategyNumber,
				F_NAMEEQ, CStringGetDatum(name));
	InvalidateCatalogSnapshot();
	snapshot = RegisterSnapshot(GetNonHistoricCatalogSnapshot(PublicationRelationId));
	scan = systable_beginscan(catalog, PublicationNameIndexId, true, snapshot,
							  1, &key);
	tuple = systable_getnext(scan);
	if (HeapTupleIsValid(tuple))
	{
		TransactionId xid = HeapTupleHeaderGetRawXmin(tuple->t_data);

		result = psprintf("It exists now, since transaction %u at the latest%s: move",
						  xid, commit_time(xid));
	}
	else
		result = "It does not exist now either: create it, and move";
	systable_endscan(scan);
	UnregisterSnapshot(snapshot);
	table_close(catalog, AccessShareLock);
	return result;
}

static void
report_error(const char *name)
{
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_OBJECT),
			 errmsg("publication \"%s\" does not exist", name),
			 errdetail("The publication does not exist at this point in the WAL."),
			 errhint("%s the slot past its creation with SELECT pg_replication_slot_advance('%s', pg_current_wal_lsn()), which leaves out all changes up to there; or set missing_publication to \"warn\" or \"skip\".",
					 existence_now(name), NameStr(MyReplicationSlot->data.name))));
}

/* A warning for each name, once per session. */
static void
report_warning(PluginState *state, const char *name)
{
	MemoryContext old;

	if (name_list_contains(state->warned_publications, name))
		return;
	old = MemoryContextSwitchTo(state->context);
	state->warned_publications = lappend(state->warned_publications,
										 pstrdup(name));
	MemoryContextSwitchTo(old);
	ereport(WARNING,
			(errcode(ERRCODE_UNDEFINED_OBJECT),
			 errmsg("publication \"%s\" does not exist", name),
			 errdetail("The publication does not exist at this point in the WAL; decoding goes on without it.")));
}

/* What this server's pgoutput does: an error before 18, then a warning. */
static void
report_like_server(const char *name)
{
	if (!SERVER_SKIPS_MISSING_PUBLICATIONS)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("publication \"%s\" does not exist", name)));
	ereport(WARNING,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("skipped loading publication \"%s\"", name),
			 errdetail("The publication does not exist at this point in the WAL."),
			 errhint("Create the publication if it does not exist.")));
}

/*
 * publication_report_missing
 *		Acts on a publication that does not exist as of the change, by option
 *		missing_publication.
 *
 * Returns if decoding goes on without it.
 */
void
publication_report_missing(PluginState *state, const char *name)
{
	switch ((MissingPublication) state->options.missing_publication)
	{
		case MISSING_PUBLICATION_SERVER:
			report_like_server(name);
			break;
		case MISSING_PUBLICATION_ERROR:
			report_error(name);
			break;
		case MISSING_PUBLICATION_WARN:
			report_warning(state, name);
			break;
		case MISSING_PUBLICATION_SKIP:
			break;
	}
}
