/*-------------------------------------------------------------------------
 *
 * inheritance.c
 *	  The topmost parent of a child that INHERITS made, for option
 *	  inheritance_root.
 *
 * Called by plan.c when it builds a plan, with the historic snapshot of the
 * change.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/pg_inherits.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "relations/inheritance.h"
#include "relations/relation_table.h"

/* The parents of a relation, in the order of their names in the catalog. */
static List *
parents_of(Oid relid)
{
	Relation	catalog = table_open(InheritsRelationId, AccessShareLock);
	List	   *parents = NIL;
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;

	ScanKeyInit(&key, Anum_pg_inherits_inhrelid, BTEqualStrategyNumber,
				F_OIDEQ, ObjectIdGetDatum(relid));
	scan = systable_beginscan(catalog, InheritsRelidSeqnoIndexId, true, NULL,
							  1, &key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
		parents = lappend_oid(parents,
							  ((Form_pg_inherits) GETSTRUCT(tuple))->inhparent);
	systable_endscan(scan);
	table_close(catalog, AccessShareLock);
	return parents;
}

static char *
qualified_name(Oid relid)
{
	char	   *schema = get_namespace_name(get_rel_namespace(relid));
	char	   *name = get_rel_name(relid);

	if (schema == NULL || name == NULL)
		elog(ERROR, "cache lookup failed for relation %u", relid);
	return quote_qualified_identifier(schema, name);
}

static void
report_several_parents(Oid relid, List *parents)
{
	StringInfoData names;
	ListCell   *lc;

	initStringInfo(&names);
	foreach(lc, parents)
		appendStringInfo(&names, "%s%s", names.len > 0 ? ", " : "",
						 qualified_name(lfirst_oid(lc)));
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("relation %s inherits from several parents",
					qualified_name(relid)),
			 errdetail("Option inheritance_root cannot choose among %s.",
					   names.data),
			 errhint("Take all but one with ALTER TABLE ... NO INHERIT, publish others only, or set inheritance_root to never.")));
}

/*
 * inheritance_root
 *		The OID of the topmost parent of a relation by INHERITS, its own if it
 *		has none.  The relation is no partition.
 *
 * Each on the way counts as a root, whose changes make plans stale.  Raises an
 * error where there are several parents.  Catalogs are read in the current
 * memory context.
 */
Oid
inheritance_root(PluginState *state, Oid relid)
{
	for (;;)
	{
		List	   *parents = parents_of(relid);

		if (parents == NIL)
			return relid;
		if (list_length(parents) > 1)
			report_several_parents(relid, parents);
		relid = linitial_oid(parents);
		relation_find_or_make(state, relid)->is_root = true;
	}
}
