/*-------------------------------------------------------------------------
 *
 * encoder_datetime.c
 *	  Direct text encoders of dates and times of day, and of intervals.
 *
 * Called for each value through TypeEncoder.encode; nothing is allocated.
 * DateStyle = ISO, IntervalStyle = postgres and every TimeZone are written
 * here; other styles are left to the output functions.  The settings are read
 * for each value: the configuration may be reloaded in the middle of a stream.
 *
 * A timestamp with time zone is one without, moved by the zone's offset from
 * UTC at that moment, which encoder_zone.c knows.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "values/encoders.h"
#include "miscadmin.h"
#include "replication/logicalproto.h"
#include "utils/date.h"
#include "utils/datetime.h"
#include "utils/timestamp.h"

#define DATE_LENGTH			10	/* of yyyy-mm-dd */
#define KEPT_DAYS			64
#define DIGITS_OF_SECOND	6

/* Writes a string constant. */
static inline char *
put_string(char *p, const char *string)
{
	size_t		len = strlen(string);

	memcpy(p, string, len);
	return p + len;
}

/*
 * The year (1 BC is 0), month and day of a Julian day number, not negative.
 *
 * Years are counted from March, so that the leap day comes last and months
 * follow a pattern of 153 days in five of them, and from 4800 years before
 * Christ, a multiple of the 400 years after which the calendar repeats, so
 * that everything is positive.
 */
static inline void
calendar_day(uint32 julian, int *year, int *month, int *day)
{
	const uint32 days_of_cycle = 146097;	/* 400 years */
	const uint32 start = 12 * 146097 - 1721120; /* of 1 March 4801 BC, before
												 * day 0 */
	uint32		days = julian + start;
	uint32		cycle = days / days_of_cycle;
	uint32		day_of_cycle = days % days_of_cycle;
	uint32		year_of_cycle = (day_of_cycle - day_of_cycle / 1460 +
								 day_of_cycle / 36524 -
								 day_of_cycle / 146096) / 365;
	uint32		day_of_year = day_of_cycle -
	(365 * year_of_cycle + year_of_cycle / 4 - year_of_cycle / 100);
	uint32		month_from_march = (5 * day_of_year + 2) / 153;

	*day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
	*month = month_from_march < 10 ? month_from_march + 3 : month_from_march - 9;
	*year = (int) (cycle * 400 + year_of_cycle) - 4800 + (*month <= 2);
}

/*
 * Writes the day with the given Julian number as yyyy-mm-dd and says whether
 * the year is one before Christ, which is to be marked at the very end.
 * Values tend to be of the same few days, which are kept, for each of some
 * columns.
 */
static char *
put_day(char *p, int julian, bool *before_christ)
{
	static struct
	{
		int			next;		/* the Julian number + 1, or 0 if not in use */
		char		text[DATE_LENGTH];
	}			kept[KEPT_DAYS];
	char	   *start = p;
	int			slot = (uint32) julian % KEPT_DAYS;
	int			year;
	int			month;
	int			day;

	if (kept[slot].next == julian + 1)
	{
		memcpy(p, kept[slot].text, DATE_LENGTH);
		*before_christ = false;
		return p + DATE_LENGTH;
	}

	calendar_day(julian, &year, &month, &day);
	*before_christ = year <= 0;
	if (year <= 0)
		year = 1 - year;		/* 1 BC is the year 0 */

	if (year < 10000)
		p = put_4_digits(p, year);
	else
		p = put_uint32(p, year);
	*p++ = '-';
	p = put_2_digits(p, month);
	*p++ = '-';
	p = put_2_digits(p, day);

	if (year < 10000 && !*before_christ)
	{
		memcpy(kept[slot].text, start, DATE_LENGTH);
		kept[slot].next = julian + 1;
	}
	return p;
}

/* Writes microseconds, not negative, as hours, minutes and seconds. */
static char *
put_time(char *p, int64 time)
{
	uint32		seconds = (uint64) time / USECS_PER_SEC;
	uint32		fraction = time - (int64) seconds * USECS_PER_SEC;
	uint32		hours = seconds / SECS_PER_HOUR;
	uint32		minutes;

	if (hours < 100)
		p = put_2_digits(p, hours);
	else
		p = put_uint32(p, hours);
	*p++ = ':';
	seconds -= hours * SECS_PER_HOUR;
	minutes = seconds / SECS_PER_MINUTE;
	p = put_2_digits(p, minutes);
	*p++ = ':';
	p = put_2_digits(p, seconds - minutes * SECS_PER_MINUTE);

	if (fraction != 0)
	{
		*p++ = '.';
		put_2_digits(p, fraction / 10000);
		put_4_digits(p + 2, fraction % 10000);
		p += DIGITS_OF_SECOND;
		while (p[-1] == '0')
			p--;
	}
	return p;
}

/* Writes an offset from UTC, in seconds east of it. */
static char *
put_offset(char *p, int offset)
{
	uint32		seconds = abs(offset);
	uint32		hours = seconds / SECS_PER_HOUR;
	uint32		minutes;

	*p++ = offset < 0 ? '-' : '+';
	if (hours < 100)
		p = put_2_digits(p, hours);
	else
		p = put_uint32(p, hours);
	seconds -= hours * SECS_PER_HOUR;
	if (seconds != 0)
	{
		minutes = seconds / SECS_PER_MINUTE;
		seconds -= minutes * SECS_PER_MINUTE;
		*p++ = ':';
		p = put_2_digits(p, minutes);
		if (seconds != 0)
		{
			*p++ = ':';
			p = put_2_digits(p, seconds);
		}
	}
	return p;
}

/*
 * Splits a timestamp into the Julian number of its day and the microseconds
 * since midnight.
 */
static inline int64
split_timestamp(Timestamp timestamp, int64 *time)
{
	int64		day = timestamp / USECS_PER_DAY;

	*time = timestamp - day * USECS_PER_DAY;
	if (*time < 0)
	{
		*time += USECS_PER_DAY;
		day--;
	}
	return day + POSTGRES_EPOCH_JDATE;
}

/* as date_out */
void
encode_date_text(StringInfo out, Datum value, TypeEncoder *encoder)
{
	DateADT		date = DatumGetDateADT(value);
	char	   *p = value_begin(out, LOGICALREP_COLUMN_TEXT, MAXDATELEN);

	if (DATE_IS_NOBEGIN(date))
		p = put_string(p, EARLY);
	else if (DATE_IS_NOEND(date))
		p = put_string(p, LATE);
	else if (DateStyle != USE_ISO_DATES || !IS_VALID_DATE(date))
	{
		encode_by_function(out, value, encoder);
		return;
	}
	else
	{
		bool		before_christ;

		p = put_day(p, date + POSTGRES_EPOCH_JDATE, &before_christ);
		if (before_christ)
			p = put_string(p, " BC");
	}
	value_end(out, p);
}

/*
 * Encodes a timestamp with or, if "zone" is null, without time zone; false if
 * it is for the output function to do it.
 */
static inline bool
encode_timestamp(StringInfo out, Timestamp timestamp, pg_tz *zone)
{
	char	   *p = value_begin(out, LOGICALREP_COLUMN_TEXT, MAXDATELEN);
	int			offset = 0;
	bool		before_christ;
	int64		day;
	int64		time;

	if (TIMESTAMP_IS_NOBEGIN(timestamp))
		p = put_string(p, EARLY);
	else if (TIMESTAMP_IS_NOEND(timestamp))
		p = put_string(p, LATE);
	else
	{
		if (DateStyle != USE_ISO_DATES || !IS_VALID_TIMESTAMP(timestamp))
			return false;
		if (zone)
		{
			if (!zone_offset(zone, timestamp, &offset))
				return false;
			timestamp += offset * USECS_PER_SEC;
		}
		day = split_timestamp(timestamp, &time);
		if (day < 0)			/* local time before the first Julian day */
			return false;

		p = put_day(p, day, &before_christ);
		*p++ = ' ';
		p = put_time(p, time);
		if (zone)
			p = put_offset(p, offset);
		if (before_christ)
			p = put_string(p, " BC");
	}
	value_end(out, p);
	return true;
}

/* as timestamp_out */
void
encode_timestamp_text(StringInfo out, Datum value, TypeEncoder *encoder)
{
	if (!encode_timestamp(out, DatumGetTimestamp(value), NULL))
		encode_by_function(out, value, encoder);
}

/* as timestamptz_out */
void
encode_timestamptz_text(StringInfo out, Datum value, TypeEncoder *encoder)
{
	if (!encode_timestamp(out, DatumGetTimestampTz(value), session_timezone))
		encode_by_function(out, value, encoder);
}

static inline bool
is_time_of_day(TimeADT time)
{
	return time >= 0 && time <= USECS_PER_DAY;
}

/* as time_out */
void
encode_time_text(StringInfo out, Datum value, TypeEncoder *encoder)
{
	TimeADT		time = DatumGetTimeADT(value);

	if (is_time_of_day(time))
	{
		char	   *p = value_begin(out, LOGICALREP_COLUMN_TEXT, MAXDATELEN);

		value_end(out, put_time(p, time));
	}
	else
		encode_by_function(out, value, encoder);
}

/* as timetz_out; the stored offset counts to the west */
void
encode_timetz_text(StringInfo out, Datum value, TypeEncoder *encoder)
{
	TimeTzADT  *time = DatumGetTimeTzADTP(value);

	/* the date style XSD is never a setting */
	if (is_time_of_day(time->time))
	{
		char	   *p = value_begin(out, LOGICALREP_COLUMN_TEXT, MAXDATELEN);

		p = put_time(p, time->time);
		value_end(out, put_offset(p, -time->zone));
	}
	else
		encode_by_function(out, value, encoder);
}

/* as timetz_send */
void
encode_timetz_binary(StringInfo out, Datum value, TypeEncoder *encoder)
{
	TimeTzADT  *time = DatumGetTimeTzADTP(value);
	uint64		microseconds = pg_hton64((uint64) time->time);
	uint32		zone = pg_hton32((uint32) time->zone);
	char	   *p = value_begin(out, LOGICALREP_COLUMN_BINARY, 12);

	memcpy(p, &microseconds, sizeof(microseconds));
	memcpy(p + sizeof(microseconds), &zone, sizeof(zone));
	value_end(out, p + 12);
}

/* as interval_send */
void
encode_interval_binary(StringInfo out, Datum value, TypeEncoder *encoder)
{
	Interval   *interval = DatumGetIntervalP(value);
	uint64		microseconds = pg_hton64((uint64) interval->time);
	uint32		days = pg_hton32((uint32) interval->day);
	uint32		months = pg_hton32((uint32) interval->month);
	char	   *p = value_begin(out, LOGICALREP_COLUMN_BINARY, 16);

	memcpy(p, &microseconds, sizeof(microseconds));
	memcpy(p + 8, &days, sizeof(days));
	memcpy(p + 12, &months, sizeof(months));
	value_end(out, p + 16);
}

/*
 * Writes a part of an interval, unless zero.  "sign" is that of the last part
 * written, 0 if none: a positive part after a negative one shows a plus.
 */
static char *
put_interval_part(char *p, int value, const char *unit, int *sign)
{
	if (value == 0)
		return p;
	if (*sign != 0)
		*p++ = ' ';
	if (*sign < 0 && value > 0)
		*p++ = '+';
	if (value < 0)
		*p++ = '-';
	p = put_uint32(p, abs(value));
	*p++ = ' ';
	p = put_string(p, unit);
	if (value != 1)
		*p++ = 's';
	*sign = value < 0 ? -1 : 1;
	return p;
}

/* Is an interval part neither part of an infinity nor beyond put_time()? */
static inline bool
is_common_interval(const Interval *interval)
{
	const int64 limit = INT64CONST(1000000) * USECS_PER_HOUR;

	return interval->month > PG_INT32_MIN && interval->month < PG_INT32_MAX &&
		interval->day > PG_INT32_MIN && interval->day < PG_INT32_MAX &&
		interval->time > -limit && interval->time < limit;
}

/* as interval_out with IntervalStyle = postgres; others are left to it */
void
encode_interval_text(StringInfo out, Datum value, TypeEncoder *encoder)
{
	Interval   *interval = DatumGetIntervalP(value);
	int64		time = interval->time;
	int			sign = 0;
	char	   *p;

	if (IntervalStyle != INTSTYLE_POSTGRES || !is_common_interval(interval))
	{
		encode_by_function(out, value, encoder);
		return;
	}

	p = value_begin(out, LOGICALREP_COLUMN_TEXT, MAXDATELEN);
	p = put_interval_part(p, interval->month / MONTHS_PER_YEAR, "year", &sign);
	p = put_interval_part(p, interval->month % MONTHS_PER_YEAR, "mon", &sign);
	p = put_interval_part(p, interval->day, "day", &sign);
	if (sign == 0 || time != 0)
	{
		if (sign != 0)
			*p++ = ' ';
		if (time < 0)
			*p++ = '-';
		else if (sign < 0)
			*p++ = '+';
		p = put_time(p, time < 0 ? -time : time);
	}
	value_end(out, p);
}
