/*-------------------------------------------------------------------------
 *
 * tuple.c
 *	  Tuples: from heap tuples to TupleData.
 *
 * The hot path.  TupleData is written in one pass over a heap tuple, where the
 * plan is direct.  Where columns are sent in another order, or a row filter or
 * an option looks at them before, the tuple is read into the session's arrays
 * of column values and written from those.  Values point into the tuple; what
 * encoders allocate is in the per-change context.
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

#include "values/room.h"
#include "values/tuple.h"

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

/* The first byte of a column that is aligned.  Heap tuples are, in memory. */
static inline char *
aligned(const SourceColumn *column, char *p)
{
	uintptr_t	mask = column->align_mask;

	return (char *) (((uintptr_t) p + mask) & ~mask);
}

/*
 * The value of the column that begins at "*next" or, aligned, behind it;
 * moves "*next" behind the value.
 */
static inline Datum
next_value(const SourceColumn *column, char **next)
{
	char	   *p = *next;
	Datum		value;

	if (column->layout == LAYOUT_VARLENA)
	{
		/* with a one-byte header it is not aligned, and no padding precedes */
		if (*p == 0)
			p = aligned(column, p);
		*next = p + VARSIZE_ANY(p);
		return PointerGetDatum(p);
	}

	p = aligned(column, p);
	switch ((ColumnLayout) column->layout)
	{
		case LAYOUT_4_BYTES:
			value = Int32GetDatum(*(int32 *) p);
			break;
		case LAYOUT_8_BYTES:
			value = *(Datum *) p;
			break;
		case LAYOUT_2_BYTES:
			value = Int16GetDatum(*(int16 *) p);
			break;
		case LAYOUT_1_BYTE:
			value = CharGetDatum(*p);
			break;
		case LAYOUT_CSTRING:
			*next = p + strlen(p) + 1;
			return PointerGetDatum(p);
		default:
			value = PointerGetDatum(p);
	}
	*next = p + column->length;
	return value;
}

/* The value of a column that a tuple is too old to have. */
static Datum
missing_value(PluginState *state, const TuplePlan *plan, int i, bool *isnull)
{
	if (plan->missing_is_null)
	{
		*isnull = true;
		return (Datum) 0;
	}
	return getmissingattr(state->tuples_desc, i + 1, isnull);
}

/*
 * tuple_read_columns
 *		Reads the columns of a tuple for tuple_read(), up to the last that the
 *		plan needs.
 *
 * Columns that the tuple is too old to have get the value they were added
 * with.
 */
void
tuple_read_columns(PluginState *state, const TuplePlan *plan, int which)
{
	HeapTuple	tuple = state->tuples[which];
	HeapTupleHeader header = tuple->t_data;
	int			natts = Min(HeapTupleHeaderGetNatts(header), plan->nsource);
	const uint8 *bits = HeapTupleHasNulls(tuple) ? header->t_bits : NULL;
	char	   *next = (char *) header + header->t_hoff;
	Datum	   *values = state->values[which];
	bool	   *nulls = state->nulls[which];

	for (int i = 0; i < natts; i++)
	{
		nulls[i] = bits && att_isnull(i, bits);
		values[i] = nulls[i] ? (Datum) 0 : next_value(&plan->source[i], &next);
	}
	for (int i = natts; i < plan->nsource; i++)
		values[i] = missing_value(state, plan, i, &nulls[i]);
}

static inline bool
is_unchanged_toast(bool varlena, Datum value)
{
	return varlena && VARATT_IS_EXTERNAL_ONDISK(DatumGetPointer(value));
}

static inline void
write_null(StringInfo out)
{
	message_room(out, 1);
	out->data[out->len++] = LOGICALREP_COLUMN_NULL;
}

static inline void
write_unchanged(StringInfo out)
{
	message_room(out, 1);
	out->data[out->len++] = LOGICALREP_COLUMN_UNCHANGED;
}

static inline void
write_value(TypeEntry *type, StringInfo out, Datum value)
{
	type->encoder.encode(out, value, &type->encoder);
}

/* Writes a column that is not null. */
static inline void
write_column(TypeEntry *type, bool varlena, StringInfo out, Datum value)
{
	if (is_unchanged_toast(varlena, value))
		write_unchanged(out);
	else
		write_value(type, out, value);
}

/* Writes columns that a tuple is too old to have, from "first" on. */
static void
write_missing(PluginState *state, const TuplePlan *plan, StringInfo out,
			  int first)
{
	for (int i = first; i < plan->nsource; i++)
	{
		const SourceColumn *column = &plan->source[i];
		bool		isnull;
		Datum		value;

		if (column->type == NULL)
			continue;
		value = missing_value(state, plan, i, &isnull);
		if (isnull)
			write_null(out);
		else
			write_value(column->type, out, value);
	}
}

/* Writes a column that is not null as it is read; returns where the next is. */
static inline char *
write_next(const SourceColumn *column, StringInfo out, char *next)
{
	Datum		value = next_value(column, &next);

	if (column->type)
		write_column(column->type, column->layout == LAYOUT_VARLENA, out, value);
	return next;
}

/* Writes the columns of a heap tuple as they are read, by a direct plan. */
static void
write_direct(PluginState *state, const TuplePlan *plan, StringInfo out,
			 HeapTuple tuple)
{
	HeapTupleHeader header = tuple->t_data;
	int			natts = Min(HeapTupleHeaderGetNatts(header), plan->nsource);
	const SourceColumn *column = plan->source;
	const SourceColumn *end = column + natts;
	char	   *next = (char *) header + header->t_hoff;

	if (!HeapTupleHasNulls(tuple))
	{
		for (; column < end; column++)
			next = write_next(column, out, next);
	}
	else
	{
		for (int i = 0; i < natts; i++, column++)
		{
			if (!att_isnull(i, header->t_bits))
				next = write_next(column, out, next);
			else if (column->type)
				write_null(out);
		}
	}
	if (unlikely(natts < plan->nsource))
		write_missing(state, plan, out, natts);
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
	if (plan->direct)
	{
		write_direct(state, plan, out, state->tuples[which]);
		return;
	}
	for (int i = 0; i < plan->nsent; i++)
	{
		const SentColumn *column = &plan->sent[i];
		int			source = column->source;

		if (source < 0 || nulls[source])
			write_null(out);
		else
			write_column(column->type, column->varlena, out, values[source]);
	}
}

/* Does the old tuple carry the value of a column that the new one does not? */
static bool
old_value_is_logged(PluginState *state, const SentColumn *column)
{
	int			source = column->source;

	return !state->nulls[OLD_TUPLE][source] &&
		!is_unchanged_toast(column->varlena,
							state->values[OLD_TUPLE][source]);
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

		if (source < 0 || nulls[source])
			write_null(out);
		else if (!is_unchanged_toast(column->varlena, values[source]))
			write_value(column->type, out, values[source]);
		else if (state->options.unchanged_toast == UNCHANGED_TOAST_ERROR)
			report_unchanged_toast(target, column->attnum);
		else if (has_old && old_value_is_logged(state, column))
			write_value(column->type, out, state->values[OLD_TUPLE][source]);
		else
			write_unchanged(out);
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
			is_unchanged_toast(column->varlena,
							   state->values[NEW_TUPLE][source]) &&
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
							column->layout < LAYOUT_FIXED, column->length))
			return true;
	}
	return false;
}
