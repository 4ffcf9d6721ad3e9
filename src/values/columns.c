/*-------------------------------------------------------------------------
 *
 * columns.c
 *	  Which columns of a relation are sent, and which are its key.
 *
 * Asked while plans and Relation messages are made.  Bitmaps are allocated in
 * the current memory context.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/sysattr.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_index.h"
#include "utils/relcache.h"
#include "utils/syscache.h"

#include "values/columns.h"

/* Is a column of a relation sent? */
bool
column_is_sent(Form_pg_attribute att, const ColumnSet *columns)
{
	if (att->attisdropped)
		return false;
	if (columns->listed)
		return bms_is_member(att->attnum, columns->members);
	if (att->attgenerated == '\0')
		return true;
	return columns->stored && att->attgenerated == ATTRIBUTE_GENERATED_STORED;
}

/*
 * The key columns of an index, offset by FirstLowInvalidHeapAttributeNumber;
 * none if its check can be deferred.
 * Reads pg_index only: the index itself may be gone from disk by now.
 */
static Bitmapset *
index_columns(Oid index_id)
{
	Bitmapset  *columns = NULL;
	HeapTuple	tuple;
	Form_pg_index index;

	if (!OidIsValid(index_id))
		return NULL;
	tuple = SearchSysCache1(INDEXRELID, ObjectIdGetDatum(index_id));
	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "could not open relation with OID %u", index_id);
	index = (Form_pg_index) GETSTRUCT(tuple);
	for (int i = 0; index->indimmediate && i < index->indnkeyatts; i++)
	{
		AttrNumber	attnum = index->indkey.values[i];

		if (attnum != 0)
			columns = bms_add_member(columns,
									 attnum - FirstLowInvalidHeapAttributeNumber);
	}
	ReleaseSysCache(tuple);
	return columns;
}

/*
 * relation_identity_columns
 *		The columns of the index that is a relation's replica identity,
 *		offset by FirstLowInvalidHeapAttributeNumber; NULL if there is none.
 */
Bitmapset *
relation_identity_columns(Relation relation)
{
	/* as the server does: asking for the index would scan pg_index */
	if (!relation->rd_rel->relhasindex)
		return NULL;
	return index_columns(RelationGetReplicaIndex(relation));
}

/*
 * relation_primary_key_columns
 *		The columns of a relation's primary key, whatever its replica identity,
 *		offset by FirstLowInvalidHeapAttributeNumber; NULL if there is none, or
 *		it is deferrable: such a key can be double for a moment.
 */
Bitmapset *
relation_primary_key_columns(Relation relation)
{
	/* has the relation cache look for its indexes */
	(void) RelationGetReplicaIndex(relation);
	return index_columns(relation->rd_pkindex);
}
