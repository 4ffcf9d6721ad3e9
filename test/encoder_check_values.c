/*-------------------------------------------------------------------------
 *
 * encoder_check_values.c
 *	  Random values to check the direct encoders with.
 *
 * Called by encoder_check.c, in a memory context that is reset often.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>
#include <sys/socket.h>

#include "access/detoast.h"
#include "access/htup_details.h"	/* brings the varlena macros */
#include "access/toast_internals.h"
#include "catalog/pg_type.h"
#include "compat.h"
#include "encoder_check.h"
#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "pgtime.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/fmgrprotos.h"
#include "utils/inet.h"
#include "utils/json.h"
#include "utils/timestamp.h"
#include "utils/uuid.h"

/* Sebastiano Vigna's splitmix64 */
uint64
random_bits(RandomState *state)
{
	uint64		bits = (state->seed += UINT64CONST(0x9E3779B97F4A7C15));

	bits = (bits ^ (bits >> 30)) * UINT64CONST(0xBF58476D1CE4E5B9);
	bits = (bits ^ (bits >> 27)) * UINT64CONST(0x94D049BB133111EB);
	return bits ^ (bits >> 31);
}

/* A number from 0 to below "limit". */
static uint64
below(RandomState *state, uint64 limit)
{
	return random_bits(state) % limit;
}

/* True once in "n" times. */
static bool
once_in(RandomState *state, uint64 n)
{
	return below(state, n) == 0;
}

/* A number from "first" to "last". */
static int64
between(RandomState *state, int64 first, int64 last)
{
	return (int64) ((uint64) first +
					below(state, (uint64) last - (uint64) first + 1));
}

/* An integer of any size, in bits and in decimal digits, and the extremes. */
static int64
any_integer(RandomState *state)
{
	int64		number = (int64) random_bits(state);

	if (state->common)
		return between(state, 0, 10000000);
	switch (below(state, 8))
	{
		case 0:
			return once_in(state, 2) ? PG_INT64_MIN : PG_INT64_MAX;
		case 1:
			number = (int64) pow(10, (double) below(state, 19)) +
				between(state, -1, 1);
			return once_in(state, 2) ? -number : number;
		default:
			return number >> below(state, 64);
	}
}

static double
any_float8(RandomState *state)
{
	uint64		bits = random_bits(state);
	double		number;

	if (state->common)
		return (double) between(state, -10000000, 10000000) / 1000.0;
	switch (below(state, 4))
	{
		case 0:
			return (double) (int64) (bits >> 32) / pow(10, (double) below(state, 9));
		case 1:
			return (double) between(state, -100000, 100000);
		case 2:
			if (once_in(state, 10))
				return once_in(state, 2) ? INFINITY : -INFINITY;
			if (once_in(state, 10))
				return once_in(state, 2) ? NAN : -0.0;
			break;
	}
	memcpy(&number, &bits, sizeof(number));
	return number;
}

static float4
any_float4(RandomState *state)
{
	uint32		bits = (uint32) random_bits(state);
	float4		number;

	if (state->common || once_in(state, 2))
		return (float4) any_float8(state);
	memcpy(&number, &bits, sizeof(number));
	return number;
}

/* A number of any length, scale and weight, and those that are none. */
static Datum
any_numeric(RandomState *state)
{
	StringInfoData text;
	int			digits;
	int			point;
	int			i;

	if (state->common)
		return DirectFunctionCall3(numeric_in,
								   CStringGetDatum(psprintf("%.2f", any_float8(state))),
								   ObjectIdGetDatum(InvalidOid),
								   Int32GetDatum(-1));
	if (once_in(state, 50))
	{
		static const char *const names[] = {"NaN", "Infinity", "-Infinity"};

		return DirectFunctionCall3(numeric_in,
								   CStringGetDatum(names[below(state, 3)]),
								   ObjectIdGetDatum(InvalidOid),
								   Int32GetDatum(-1));
	}

	digits = 1 + (int) below(state, once_in(state, 20) ? 300 : 30);
	point = once_in(state, 2) ? (int) below(state, digits + 1) : digits;
	initStringInfo(&text);
	if (once_in(state, 2))
		appendStringInfoChar(&text, '-');
	for (i = 0; i < digits; i++)
	{
		if (i == point)
			appendStringInfoChar(&text, '.');
		appendStringInfoChar(&text, once_in(state, 3) ? '0' :
							 '0' + (int) below(state, 10));
	}
	if (once_in(state, 4))
		appendStringInfo(&text, "e%d",
						 (int) between(state, -40, 40) *
						 (once_in(state, 50) ? 100 : 1));
	return DirectFunctionCall3(numeric_in, CStringGetDatum(text.data),
							   ObjectIdGetDatum(InvalidOid),
							   Int32GetDatum(-1));
}

static DateADT
any_date(RandomState *state)
{
	if (state->common)
		return (DateADT) between(state, 9000, 10000);
	switch (below(state, 8))
	{
		case 0:
			if (once_in(state, 2))
				return once_in(state, 2) ? DATEVAL_NOBEGIN : DATEVAL_NOEND;
			return once_in(state, 2) ? -POSTGRES_EPOCH_JDATE :
				DATE_END_JULIAN - POSTGRES_EPOCH_JDATE - 1;
		case 1:
			return (DateADT) between(state, -POSTGRES_EPOCH_JDATE,
									 (int64) DATE_END_JULIAN -
									 POSTGRES_EPOCH_JDATE - 1);
		case 2:					/* about the birth of Christ, and 10000 */
			return (DateADT) between(state, -730500, -730000) +
				(once_in(state, 2) ? 3652000 : 0);
		default:
			return (DateADT) between(state, -60000, 40000);
	}
}

/* Moves a moment to a transition of the zone, or a bit away from it. */
static TimestampTz
near_transition(RandomState *state, TimestampTz moment)
{
	const int64 epoch = (POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * SECS_PER_DAY;
	pg_time_t	seconds = moment / USECS_PER_SEC + epoch;
	pg_time_t	boundary;
	long int	offset;
	int			is_dst;

	if (pg_next_dst_boundary(&seconds, &offset, &is_dst, &boundary,
							 &offset, &is_dst, session_timezone) <= 0)
		return moment;
	moment = (boundary - epoch) * USECS_PER_SEC;
	switch (below(state, 4))
	{
		case 0:
			return moment + between(state, -1, 1);
		case 1:
			return moment + between(state, -2, 2) * USECS_PER_SEC;
		default:
			return moment + between(state, -5 * USECS_PER_DAY, 5 * USECS_PER_DAY);
	}
}

static Timestamp
any_timestamp(RandomState *state)
{
	static const int64 units[] = {1, 1, 1000, USECS_PER_SEC, 10000,
	USECS_PER_MINUTE, USECS_PER_HOUR, USECS_PER_DAY};
	const int64 year = INT64CONST(31556952) * USECS_PER_SEC;
	int64		unit = units[below(state, lengthof(units))];
	Timestamp	timestamp;

	if (state->common)
		return between(state, 25 * year, 27 * year);
	switch (below(state, 16))
	{
		case 0:
			if (once_in(state, 2))
				return once_in(state, 2) ? DT_NOBEGIN : DT_NOEND;
			if (once_in(state, 2))
				return MIN_TIMESTAMP + below(state, 2 * USECS_PER_DAY);
			return END_TIMESTAMP - 1 - below(state, 2 * USECS_PER_DAY);
		case 1:
		case 2:
			timestamp = between(state, MIN_TIMESTAMP, END_TIMESTAMP - 1);
			break;
		case 3:
			timestamp = near_transition(state, between(state, -160 * year,
													   600 * year));
			break;
		case 4:					/* in a few centuries about Christ and 10000 */
			timestamp = between(state, -2100 * year, -1900 * year) +
				(once_in(state, 2) ? 10000 * year : 0);
			break;
		case 5:
		case 6:
			timestamp = between(state, -160 * year, 500 * year);
			break;
		default:
			timestamp = between(state, -30 * year, 40 * year);
	}
	timestamp -= timestamp % unit;
	return timestamp;
}

static TimeADT
any_time(RandomState *state)
{
	static const int64 units[] = {1, 1, 1000, USECS_PER_SEC};
	int64		unit = units[below(state, lengthof(units))];
	TimeADT		time = between(state, 0, USECS_PER_DAY);

	if (once_in(state, 100))
		return once_in(state, 2) ? USECS_PER_DAY : 0;
	return time - time % unit;
}

static Datum
any_timetz(RandomState *state)
{
	TimeTzADT  *time = palloc(sizeof(TimeTzADT));

	time->time = any_time(state);
	time->zone = between(state, -16 * SECS_PER_HOUR + 1, 16 * SECS_PER_HOUR - 1);
	if (once_in(state, 2))
		time->zone -= time->zone % (once_in(state, 2) ? 60 : 3600);
	return TimeTzADTPGetDatum(time);
}

static Datum
any_interval(RandomState *state)
{
	Interval   *interval = palloc0(sizeof(Interval));

	if (once_in(state, 2))
		interval->month = (int32) random_bits(state) >> below(state, 32);
	if (once_in(state, 2))
		interval->day = (int32) random_bits(state) >> below(state, 32);
	if (once_in(state, 2))
		interval->time = any_integer(state) / (once_in(state, 2) ? 1 : 10000);
	else if (once_in(state, 2))
		interval->time = between(state, -100, 100) * USECS_PER_MINUTE;
	/* The server has no text for more; both would end in its error. */
	interval->time = Max(interval->time, -INTERVAL_MAX_TIME);
	interval->time = Min(interval->time, INTERVAL_MAX_TIME);
	return IntervalPGetDatum(interval);
}

/* Appends a character that the server and the client can both encode. */
static void
append_character(StringInfo string, RandomState *state)
{
	uint64		bits = random_bits(state);
	pg_wchar	character = 0;
	unsigned char bytes[8] = {0};

	if (bits % 8 != 0)
	{
		char		c = (bits >> 8) % 128;

		/* not the zero byte, and seldom another control character */
		if (c < ' ' && (c == '\0' || (bits >> 16) % 16 != 0))
			c += 'A';
		appendStringInfoCharMacro(string, c);
		return;
	}
	if (GetDatabaseEncoding() == PG_LATIN1)
		appendStringInfoChar(string, (char) between(state, 0xA0, 0xFF));
	if (GetDatabaseEncoding() != PG_UTF8)
		return;

	switch (pg_get_client_encoding())
	{
		case PG_UTF8:
		case PG_GB18030:
			character = once_in(state, 4) ? between(state, 0x10000, 0x1FFFF) :
				between(state, 0x80, 0xD7FF);
			if (pg_get_client_encoding() == PG_GB18030)
				character = between(state, 0x4E00, 0x9F00);
			break;
		case PG_LATIN1:
			character = between(state, 0xA0, 0xFF);
			break;
		case PG_WIN1251:
		case PG_KOI8R:
			character = between(state, 0x410, 0x44F);
			break;
		case PG_SJIS:
		case PG_EUC_JP:
		case PG_BIG5:
			character = between(state, 0x3041, 0x3093);
			if (pg_get_client_encoding() == PG_BIG5)
				character = 0x4E00; /* one */
			break;
		default:
			return;
	}
	unicode_to_utf8(character, bytes);
	appendStringInfoString(string, (char *) bytes);
}

static void
append_string(StringInfo string, RandomState *state, int limit)
{
	int			count = (int) below(state, limit);

	while (count-- > 0)
		append_character(string, state);
}

/* A varlena in one of the forms in which it can appear in a tuple. */
static Datum
any_form(RandomState *state, struct varlena *plain)
{
	struct varlena *form;
	Size		len = VARSIZE(plain) - VARHDRSZ;
	Datum		compressed;

	switch (state->common ? 15 : below(state, 16))
	{
		case 0:
			compressed = toast_compress_datum(PointerGetDatum(plain),
											  TOAST_PGLZ_COMPRESSION);
			if (DatumGetPointer(compressed) != NULL)
				return compressed;
			return PointerGetDatum(plain);
		case 1:
			{
				struct varatt_indirect pointer = {plain};

				form = palloc(INDIRECT_POINTER_SIZE);
				SET_VARTAG_EXTERNAL(form, VARTAG_INDIRECT);
				memcpy(VARDATA_EXTERNAL(form), &pointer, sizeof(pointer));
				return PointerGetDatum(form);
			}
		case 2:
		case 3:
		case 4:
			return PointerGetDatum(plain);
		default:
			if (len + VARHDRSZ_SHORT > VARATT_SHORT_MAX)
				return PointerGetDatum(plain);
			/* at an odd address, as in a tuple */
			form = (struct varlena *) ((char *) palloc(len + VARHDRSZ_SHORT + 1) + 1);
			SET_VARSIZE_SHORT(form, len + VARHDRSZ_SHORT);
			memcpy(VARDATA_SHORT(form), VARDATA(plain), len);
			return PointerGetDatum(form);
	}
}

static Datum
any_text(RandomState *state)
{
	StringInfoData string;
	struct varlena *text;

	initStringInfo(&string);
	append_string(&string, state, !state->common && once_in(state, 100) ? 12000 : 60);
	if (!state->common && once_in(state, 50))	/* compressible */
		while (string.len < 3000)
			appendStringInfoString(&string, "abc");
	text = cstring_to_text_with_len(string.data, string.len);
	pfree(string.data);			/* keeps values together in timings */
	return any_form(state, text);
}

static Datum
any_bytea(RandomState *state)
{
	int			len = (int) below(state, !state->common && once_in(state, 100) ? 12000 : 60);
	struct varlena *bytes = palloc(VARHDRSZ + len);
	bool		zeroes = once_in(state, 20);
	int			i;

	SET_VARSIZE(bytes, VARHDRSZ + len);
	for (i = 0; i < len; i++)
		VARDATA(bytes)[i] = zeroes ? 0 : (char) random_bits(state);
	return any_form(state, bytes);
}

static Datum
any_uuid(RandomState *state)
{
	pg_uuid_t  *uuid = palloc(sizeof(pg_uuid_t));
	uint64		bits[2] = {random_bits(state), random_bits(state)};

	memcpy(uuid->data, bits, UUID_LEN);
	return UUIDPGetDatum(uuid);
}

/* An address of any kind; the server's encoders mind no bits to the right. */
static Datum
any_inet(RandomState *state)
{
	bool		ipv6 = !state->common && once_in(state, 4);
	int			bytes = ipv6 ? 16 : 4;
	struct varlena *inet = palloc(VARHDRSZ + 2 + bytes);
	inet_struct *address = (inet_struct *) VARDATA(inet);
	int			i;

	SET_VARSIZE(inet, VARHDRSZ + 2 + bytes);
	address->family = ipv6 ? PGSQL_AF_INET6 : PGSQL_AF_INET;
	address->bits = once_in(state, 2) ? 8 * bytes : below(state, 8 * bytes + 1);
	for (i = 0; i < bytes; i++)
		address->ipaddr[i] = random_bits(state) >> below(state, 64);
	return any_form(state, inet);
}

static Datum
any_name(RandomState *state)
{
	StringInfoData string;
	Name		name = palloc0(sizeof(NameData));

	initStringInfo(&string);
	append_string(&string, state, NAMEDATALEN);
	memcpy(NameStr(*name), string.data,
		   pg_mbcliplen(string.data, string.len, NAMEDATALEN - 1));
	pfree(string.data);
	return NameGetDatum(name);
}

/* Appends a string in JSON's syntax. */
static void
append_json_string(StringInfo json, RandomState *state)
{
	StringInfoData string;

	initStringInfo(&string);
	append_string(&string, state, once_in(state, 100) ? 1000 : 12);
	escape_json(json, string.data);
	pfree(string.data);
}

static void
append_json(StringInfo json, RandomState *state, int depth)
{
	int			count = (int) below(state, once_in(state, 10) ? 70 : 5);
	int			i;

	switch (below(state, depth > 3 ? 6 : 9))
	{
		case 0:
			appendStringInfoString(json, once_in(state, 2) ? "true" : "false");
			break;
		case 1:
			appendStringInfoString(json, "null");
			break;
		case 2:
			appendStringInfo(json, "%d", (int) between(state, -100000, 100000));
			break;
		case 3:
			appendStringInfo(json, "%.*f", (int) below(state, 8),
							 (double) between(state, -1000000, 1000000) / 1000);
			break;
		case 4:
		case 5:
			append_json_string(json, state);
			break;
		case 6:
			appendStringInfoChar(json, '[');
			for (i = 0; i < count; i++)
			{
				if (i > 0)
					appendStringInfoChar(json, ',');
				append_json(json, state, depth + 1 + count / 10);
			}
			appendStringInfoChar(json, ']');
			break;
		default:
			appendStringInfoChar(json, '{');
			for (i = 0; i < count; i++)
			{
				if (i > 0)
					appendStringInfoChar(json, ',');
				append_json_string(json, state);
				appendStringInfoChar(json, ':');
				append_json(json, state, depth + 1 + count / 10);
			}
			appendStringInfoChar(json, '}');
	}
}

static Datum
any_jsonb(RandomState *state)
{
	StringInfoData json;
	Datum		jsonb;

	initStringInfo(&json);
	if (once_in(state, 1000))	/* nested deep */
	{
		int			depth = (int) below(state, 200);
		int			i;

		for (i = 0; i < depth; i++)
			appendStringInfoString(&json, i % 3 ? "[" : "{\"a\":");
		append_json(&json, state, 4);
		while (--i >= 0)
			appendStringInfoChar(&json, i % 3 ? ']' : '}');
	}
	else
		append_json(&json, state, (int) below(state, 3));
	jsonb = DirectFunctionCall1(jsonb_in, CStringGetDatum(json.data));
	pfree(json.data);
	return any_form(state, (struct varlena *) DatumGetPointer(jsonb));
}

Datum
random_value(Oid type, RandomState *state)
{
	switch (type)
	{
		case BOOLOID:
			return BoolGetDatum(once_in(state, 2));
		case CHAROID:
			return CharGetDatum((char) random_bits(state));
		case INT2OID:
			return Int16GetDatum((int16) (any_integer(state) >> (once_in(state, 2) ? 48 : 0)));
		case INT4OID:
			return Int32GetDatum((int32) (any_integer(state) >> (once_in(state, 2) ? 32 : 0)));
		case INT8OID:
			return Int64GetDatum(any_integer(state));
		case OIDOID:
			return ObjectIdGetDatum((Oid) any_integer(state));
		case FLOAT4OID:
			return Float4GetDatum(any_float4(state));
		case FLOAT8OID:
			return Float8GetDatum(any_float8(state));
		case NUMERICOID:
			return any_form(state, (struct varlena *) DatumGetPointer(any_numeric(state)));
		case TEXTOID:
		case VARCHAROID:
		case BPCHAROID:
		case JSONOID:			/* not looked into */
			return any_text(state);
		case NAMEOID:
			return any_name(state);
		case BYTEAOID:
			return any_bytea(state);
		case UUIDOID:
			return any_uuid(state);
		case INETOID:
		case CIDROID:
			return any_inet(state);
		case JSONBOID:
			return any_jsonb(state);
		case DATEOID:
			return DateADTGetDatum(any_date(state));
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			return TimestampGetDatum(any_timestamp(state));
		case TIMEOID:
			return TimeADTGetDatum(any_time(state));
		case TIMETZOID:
			return any_timetz(state);
		case INTERVALOID:
			return any_interval(state);
		default:
			elog(ERROR, "no random values of type %u", type);
	}
}
