/*-------------------------------------------------------------------------
 *
 * tuple.c
 *	  Tuples: from heap tuples to TupleData.
 *
 * The hot path.  A callback reads a heap tuple into the session's arrays of
 * column values, up to the last column that is needed, and writes TupleData
 * in one pass over the columns that are sent.  Values point into the tuple;
 * what encoders allocate is in the per-change context.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/sysattr.h"
#include "access/tupmacs.h"
#include "libpq/pqformat.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"

#include "message.h"
#include "tuple.h"

/*
 * tuples_make_room
 *		Makes the session's arrays long enough for tuples of "ncolumns".
 */
void
tuples_make_room(PluginState *state, int ncolumns)
{
	if (ncolumns < state->max_columns)
		return;
	state->max_columns = Max(ncolumns + 1, 2 * state->max_columns);
	for (int i = OLD_TUPLE; i <= NEW_TUPLE; i++)
	{
		if (state->values[i])
		{
			pfree(state->values[i]);
			pfree(state->nulls[i]);
		}
		state->values[i] = MemoryContextAlloc(state->context,
											  state->max_columns * sizeof(Datum));
		state->nulls[i] = MemoryContextAlloc(state->context,
											 state->max_columns * sizeof(bool));
	}
}

/*
 * Where a column that is not at a fixed offset begins: aligned, unless it is a
 * varlena with a one-byte header.
 */
static inline uint32
column_start(const SourceColumn *column, const char *data, uint32 offset)
{
	if (column->length == -1 && data[offset] != 0)
		return offset;
	return TYPEALIGN(column->alignment, offset);
}

/* Reads columns from "first" on of a tuple without nulls. */
static void
read_variable(const TuplePlan *plan, char *data, int first, int natts,
			  Datum *values)
{
	const SourceColumn *column = &plan->source[first];
	uint32		offset = 0;

	if (first > 0)
		offset = att_addlength_pointer(column[-1].offset, column[-1].length,
									   data + column[-1].offset);
	for (int i = first; i < natts; i++, column++)
	{
		offset = column_start(column, data, offset);
		values[i] = fetch_att(data + offset, column->by_value, column->length);
		offset = att_addlength_pointer(offset, column->length, data + offset);
	}
}

/* Reads all columns of a tuple with nulls. */
static void
read_with_nulls(const TuplePlan *plan, char *data, const uint8 *bits,
				int natts, Datum *values, bool *nulls)
{
	const SourceColumn *column = plan->source;
	uint32		offset = 0;

	for (int i = 0; i < natts; i++, column++)
	{
		nulls[i] = att_isnull(i, bits);
		if (nulls[i])
		{
			values[i] = (Datum) 0;
			continue;
		}
		offset = column_start(column, data, offset);
		values[i] = fetch_att(data + offset, column->by_value, column->length);
		offset = att_addlength_pointer(offset, column->length, data + offset);
	}
}

/*
 * tuple_read
 *		Reads the columns of a heap tuple into the session's arrays, up to the
 *		last that the plan needs.
 *
 * "which" is OLD_TUPLE or NEW_TUPLE.  Columns that the tuple is too old to
 * have get the value they were added with.
 */
void
tuple_read(PluginState *state, const TuplePlan *plan, Relation relation,
		   HeapTuple tuple, int which)
{
	HeapTupleHeader header = tuple->t_data;
	int			natts = Min(HeapTupleHeaderGetNatts(header), plan->nsource);
	Datum	   *values = state->values[which];
	bool	   *nulls = state->nulls[which];
	char	   *data = (char *) header + header->t_hoff;
	const SourceColumn *column = plan->source;
	int			i = 0;

	if (!HeapTupleHasNulls(tuple))
	{
		int			nfixed = Min(natts, plan->nfixed);

		memset(nulls, false, natts);
		for (; i < nfixed; i++, column++)
			values[i] = fetch_att(data + column->offset, column->by_value,
								  column->length);
		if (i < natts)
			read_variable(plan, data, i, natts, values);
	}
	else
		read_with_nulls(plan, data, header->t_bits, natts, values, nulls);

	for (i = natts; i < plan->nsource; i++)
		values[i] = getmissingattr(RelationGetDescr(relation), i + 1, &nulls[i]);
}

static inline bool
is_unchanged_toast(const SentColumn *column, Datum value)
{
	return column->varlena &&
		VARATT_IS_EXTERNAL_ONDISK(DatumGetPointer(value));
}

static inline void
write_value(const SentColumn *column, StringInfo out, Datum value)
{
	TypeEncoder *encoder = &column->type->encoder;

	encoder->encode(out, value, encoder);
}

static inline void
write_column(const SentColumn *column, StringInfo out, const Datum *values,
			 const bool *nulls)
{
	int			source = column->source;

	if (source < 0 || nulls[source])
		appendStringInfoCharMacro(out, LOGICALREP_COLUMN_NULL);
	else if (is_unchanged_toast(column, values[source]))
		appendStringInfoCharMacro(out, LOGICALREP_COLUMN_UNCHANGED);
	else
		write_value(column, out, values[source]);
}

/*
 * tuple_write
 *		Writes TupleData of the tuple that was read last as "which".
 */
void
tuple_write(PluginState *state, const TuplePlan *plan, StringInfo out,
			int which)
{
	const Datum *values = state->values[which];
	const bool *nulls = state->nulls[which];

	message_room(out, sizeof(uint16));
	pq_writeint16(out, plan->nsent);
	for (int i = 0; i < plan->nsent; i++)
		write_column(&plan->sent[i], out, values, nulls);
}

/* Does the old tuple carry the value of a column that the new one does not? */
static bool
old_value_is_logged(PluginState *state, const SentColumn *column)
{
	int			source = column->source;

	return !state->nulls[OLD_TUPLE][source] &&
		!is_unchanged_toast(column, state->values[OLD_TUPLE][source]);
}

static void
report_unchanged_toast(Relation target, AttrNumber attnum)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("unchanged out-of-line value of column \"%s\" of relation \"%s.%s\" cannot be sent",
					NameStr(TupleDescAttr(RelationGetDescr(target),
										  attnum - 1)->attname),
					get_namespace_name(RelationGetNamespace(target)),
					RelationGetRelationName(target)),
			 errdetail("The new row in the WAL does not carry a value that an UPDATE left unchanged, and option unchanged_toast is \"error\"."),
			 errhint("Set unchanged_toast to \"fill\" with REPLICA IDENTITY FULL, or to \"marker\".")));
}

/*
 * tuple_write_unchanged
 *		Writes TupleData of the new tuple for tuple_write_new(), where unchanged
 *		out-of-line values are to be filled in or to raise an error.
 */
void
tuple_write_unchanged(PluginState *state, const TuplePlan *plan,
					  StringInfo out, Relation target, bool has_old)
{
	const Datum *values = state->values[NEW_TUPLE];
	const bool *nulls = state->nulls[NEW_TUPLE];

	pq_sendint16(out, plan->nsent);
	for (int i = 0; i < plan->nsent; i++)
	{
		const SentColumn *column = &plan->sent[i];
		int			source = column->source;

		if (source < 0 || nulls[source] ||
			!is_unchanged_toast(column, values[source]))
			write_column(column, out, values, nulls);
		else if (state->options.unchanged_toast == UNCHANGED_TOAST_ERROR)
			report_unchanged_toast(target, column->attnum);
		else if (has_old && old_value_is_logged(state, column))
			write_value(column, out, state->values[OLD_TUPLE][source]);
		else
			appendStringInfoCharMacro(out, LOGICALREP_COLUMN_UNCHANGED);
	}
}

/*
 * tuple_is_whole
 *		Is each value of the new tuple that is to be sent in the WAL, if the
 *		old tuple's are taken where the new one lacks them?
 */
bool
tuple_is_whole(PluginState *state, const TuplePlan *plan, bool has_old)
{
	for (int i = 0; i < plan->nsent; i++)
	{
		const SentColumn *column = &plan->sent[i];
		int			source = column->source;

		if (source >= 0 && !state->nulls[NEW_TUPLE][source] &&
			is_unchanged_toast(column, state->values[NEW_TUPLE][source]) &&
			!(has_old && old_value_is_logged(state, column)))
			return false;
	}
	return true;
}

/*
 * tuple_take_old_toast
 *		Replaces unchanged out-of-line values of the new tuple by those of the
 *		old tuple where that carries them.
 *
 * Returns the new tuple's values as they were, allocated in the current
 * memory context, or NULL if nothing was replaced.
 */
Datum *
tuple_take_old_toast(PluginState *state, const TuplePlan *plan)
{
	Datum	   *values = state->values[NEW_TUPLE];
	const Datum *old_values = state->values[OLD_TUPLE];
	Datum	   *saved = NULL;

	for (int i = 0; i < plan->nsource; i++)
	{
		if (plan->source[i].length != -1 ||
			state->nulls[NEW_TUPLE][i] || state->nulls[OLD_TUPLE][i] ||
			!VARATT_IS_EXTERNAL_ONDISK(DatumGetPointer(values[i])) ||
			VARATT_IS_EXTERNAL_ONDISK(DatumGetPointer(old_values[i])))
			continue;
		if (saved == NULL)
		{
			saved = palloc(plan->nsource * sizeof(Datum));
			memcpy(saved, values, plan->nsource * sizeof(Datum));
		}
		values[i] = old_values[i];
	}
	return saved;
}

/*
 * tuple_columns_differ
 *		Do old and new tuple differ in one of the columns of the relation?
 *
 * "attnums" are offset by FirstLowInvalidHeapAttributeNumber.  Values are
 * compared byte by byte; an unchanged out-of-line value does not differ.
 */
bool
tuple_columns_differ(PluginState *state, const TuplePlan *plan,
					 Bitmapset *attnums)
{
	int			member = -1;

	while ((member = bms_next_member(attnums, member)) >= 0)
	{
		int			i = member + FirstLowInvalidHeapAttributeNumber - 1;
		const SourceColumn *column = &plan->source[i];
		Datum		old_value = state->values[OLD_TUPLE][i];
		Datum		new_value = state->values[NEW_TUPLE][i];

		if (state->nulls[OLD_TUPLE][i] != state->nulls[NEW_TUPLE][i])
			return true;
		if (state->nulls[OLD_TUPLE][i])
			continue;
		if (column->length == -1 &&
			VARATT_IS_EXTERNAL_ONDISK(DatumGetPointer(new_value)))
			continue;
		if (!datum_image_eq(old_value, new_value,
							column->by_value, column->length))
			return true;
	}
	return false;
}
