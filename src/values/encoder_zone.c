/*-------------------------------------------------------------------------
 *
 * encoder_zone.c
 *	  Offsets of time zones from UTC, remembered.
 *
 * Called by encoder_datetime.c for each timestamp with time zone; nothing is
 * allocated.
 *
 * pg_localtime() searches the zone's transitions and computes a calendar day,
 * most of the cost of a timestamp with time zone.  The offset, however, stays
 * the same from one transition to the next, and pg_next_dst_boundary() tells
 * when that is.  A table remembers, for each stretch of 24 days that was asked
 * for, a range of time and the offset within it, and serves what falls in that
 * range.  A zone never changes once loaded and is never freed, so that its
 * address says which it is; another zone empties the table.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "values/encoders.h"
#include "pgtime.h"
#include "utils/timestamp.h"

#define STRETCH_BITS	21		/* 2 ^ 21 seconds are 24 days */
#define TABLE_SIZE		128		/* over 8 years; a power of 2 */

/* From "start" until before "end", the offset is known; none if both are 0. */
typedef struct OffsetRange
{
	pg_time_t	start;
	pg_time_t	end;
	int			offset;
} OffsetRange;

static pg_tz *table_zone = NULL;
static OffsetRange table[TABLE_SIZE];

/*
 * The end of the time from "start" on that certainly has one offset.
 *
 * Without a later transition, pg_next_dst_boundary() returns 0.  But it does
 * so, too, for the very moment of the last transition in the zone's table even
 * if the transitions are known to go on by a rule; a second later, it knows
 * better.
 */
static pg_time_t
range_end(pg_tz *zone, pg_time_t start)
{
	pg_time_t	later = start + 1;
	pg_time_t	boundary;
	long int	before_offset;
	long int	after_offset;
	int			before_is_dst;
	int			after_is_dst;
	int			found;

	found = pg_next_dst_boundary(&start, &before_offset, &before_is_dst,
								 &boundary, &after_offset, &after_is_dst,
								 zone);
	if (found > 0)
		return boundary;
	if (found == 0 &&
		pg_next_dst_boundary(&later, &before_offset, &before_is_dst,
							 &boundary, &after_offset, &after_is_dst,
							 zone) == 0)
		return PG_INT64_MAX;
	return later;
}

/* Fills in the range that begins at "start". */
static bool
find_range(OffsetRange *range, pg_tz *zone, pg_time_t start)
{
	struct pg_tm *local = pg_localtime(&start, zone);

	if (local == NULL)
		return false;
	range->offset = local->tm_gmtoff;
	range->start = start;
	range->end = range_end(zone, start);
	return true;
}

/*
 * The offset of a zone's local time from UTC at a finite moment, in seconds,
 * east is positive.  Returns false if the zone does not know.
 */
bool
zone_offset(pg_tz *zone, TimestampTz timestamp, int *offset)
{
	pg_time_t	seconds = timestamp / USECS_PER_SEC;
	uint64		stretch;
	OffsetRange *range;

	if (timestamp % USECS_PER_SEC < 0)
		seconds--;
	seconds += (POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * SECS_PER_DAY;

	if (zone != table_zone)
	{
		memset(table, 0, sizeof(table));
		table_zone = zone;
	}

	stretch = (uint64) seconds >> STRETCH_BITS;
	range = &table[stretch % TABLE_SIZE];
	if (seconds < range->start || seconds >= range->end)
	{
		/* try the whole stretch first, then what is left of it */
		range->end = range->start = 0;
		if (!find_range(range, zone, (pg_time_t) (stretch << STRETCH_BITS)) ||
			seconds >= range->end)
		{
			range->end = range->start = 0;
			if (!find_range(range, zone, seconds))
				return false;
		}
	}
	*offset = range->offset;
	return true;
}
