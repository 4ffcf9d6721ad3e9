/*-------------------------------------------------------------------------
 *
 * tuple.h
 *	  Tuples: from heap tuples to TupleData.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PGOUTPUT_EXT_TUPLE_H
#define PGOUTPUT_EXT_TUPLE_H

#include "access/htup.h"
#include "utils/rel.h"

#include "plugin.h"
#include "values/type.h"

/* Indexes of PluginState's arrays of column values. */
#define OLD_TUPLE 0
#define NEW_TUPLE 1

/* How the value of a column lies in heap tuples. */
typedef enum ColumnLayout
{
	LAYOUT_1_BYTE,				/* by value */
	LAYOUT_2_BYTES,
	LAYOUT_4_BYTES,
	LAYOUT_8_BYTES,
	LAYOUT_FIXED,				/* by reference, of fixed length */
	LAYOUT_VARLENA,
	LAYOUT_CSTRING,
} ColumnLayout;

/* A column of the relation's heap tuples. */
typedef struct SourceColumn
{
	TypeEntry  *type;			/* NULL: not sent */
	int16		length;			/* as in pg_attribute.attlen */
	uint8		layout;			/* a ColumnLayout */
	uint8		align_mask;		/* alignment in bytes, less one */
} SourceColumn;

/* A column of TupleData. */
typedef struct SentColumn
{
	TypeEntry  *type;
	int16		source;			/* index of its SourceColumn, -1: always null */
	AttrNumber	attnum;			/* in the relation announced */
	bool		varlena;
} SentColumn;

/*
 * How a relation's tuples are written.
 *
 * In a direct plan columns are sent in the order that heap tuples have them,
 * and nobody else asks for their values: tuples are written in one pass.
 */
typedef struct TuplePlan
{
	uint64		target_changes; /* of the relation announced, as it was built */
	bool		direct;
	bool		missing_is_null;	/* see quirks.h */
	int			nsource;		/* columns to read, up to the last one sent */
	int			nsent;
	SourceColumn *source;
	SentColumn *sent;			/* NULL in a direct plan */
} TuplePlan;

extern void tuples_make_room(PluginState *state, int ncolumns);
extern void tuple_read_columns(PluginState *state, const TuplePlan *plan,
							   int which);
extern void tuple_write(PluginState *state, const TuplePlan *plan,
						StringInfo out, int which);
extern void tuple_write_unchanged(PluginState *state, const TuplePlan *plan,
								  StringInfo out, Relation target,
								  bool has_old);
extern bool tuple_is_whole(PluginState *state, const TuplePlan *plan,
						   bool has_old);
extern Datum *tuple_take_old_toast(PluginState *state, const TuplePlan *plan);
extern bool tuple_columns_differ(PluginState *state, const TuplePlan *plan,
								 Bitmapset *attnums);

/*
 * Takes a heap tuple of the relation as "which", OLD_TUPLE or NEW_TUPLE, and
 * reads its columns into the session's arrays unless the plan is direct.
 */
static inline void
tuple_read(PluginState *state, const TuplePlan *plan, Relation relation,
		   HeapTuple tuple, int which)
{
	state->tuples[which] = tuple;
	state->tuples_desc = RelationGetDescr(relation);
	if (!plan->direct)
		tuple_read_columns(state, plan, which);
}

/*
 * Writes TupleData of the new tuple, with unchanged out-of-line values as
 * option unchanged_toast has them.  "has_old" tells whether an old tuple was
 * read; "target" is the relation announced.
 */
static inline void
tuple_write_new(PluginState *state, const TuplePlan *plan, StringInfo out,
				Relation target, bool has_old)
{
	if (likely(state->options.unchanged_toast == UNCHANGED_TOAST_MARKER))
		tuple_write(state, plan, out, NEW_TUPLE);
	else
		tuple_write_unchanged(state, plan, out, target, has_old);
}

#endif							/* PGOUTPUT_EXT_TUPLE_H */
