/*-------------------------------------------------------------------------
 *
 * columns.h
 *	  Which columns of a relation are sent, and which are its key.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PGOUTPUT_EXT_COLUMNS_H
#define PGOUTPUT_EXT_COLUMNS_H

#include "nodes/bitmapset.h"
#include "utils/rel.h"

/* Which columns of a relation are sent. */
typedef struct ColumnSet
{
	bool		listed;			/* those in "members", else all ... */
	bool		stored;			/* ... with the stored generated ones? */
	Bitmapset  *members;		/* attribute numbers */
} ColumnSet;

extern bool column_is_sent(Form_pg_attribute att, const ColumnSet *columns);

extern Bitmapset *relation_identity_columns(Relation relation);
extern Bitmapset *relation_primary_key_columns(Relation relation);

#endif							/* PGOUTPUT_EXT_COLUMNS_H */
