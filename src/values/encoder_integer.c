/*-------------------------------------------------------------------------
 *
 * encoder_integer.c
 *	  Direct encoders of integers, bool and "char", and of everything whose
 *	  binary form is its by-value bytes in network order.
 *
 * Called for each value through TypeEncoder.encode; nothing is allocated.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "values/encoders.h"
#include "replication/logicalproto.h"

#define INT4_TEXT_LENGTH	11	/* of -2147483648 */
#define INT8_TEXT_LENGTH	20	/* of -9223372036854775808 */

static inline char *
put_int32(char *p, int32 number)
{
	uint32		magnitude = number;

	if (number < 0)
	{
		*p++ = '-';
		magnitude = 0 - magnitude;
	}
	return put_uint32(p, magnitude);
}

/* Writes a number below a hundred million as eight digits. */
static inline char *
put_8_digits(char *p, uint32 number)
{
	p = put_4_digits(p, number / 10000);
	return put_4_digits(p, number % 10000);
}

/* as int2out */
void
encode_int2_text(StringInfo out, Datum value, TypeEncoder *encoder)
{
	char	   *p = value_begin(out, LOGICALREP_COLUMN_TEXT, INT4_TEXT_LENGTH);

	value_end(out, put_int32(p, DatumGetInt16(value)));
}

/* as int4out */
void
encode_int4_text(StringInfo out, Datum value, TypeEncoder *encoder)
{
	char	   *p = value_begin(out, LOGICALREP_COLUMN_TEXT, INT4_TEXT_LENGTH);

	value_end(out, put_int32(p, DatumGetInt32(value)));
}

/* as int8out */
void
encode_int8_text(StringInfo out, Datum value, TypeEncoder *encoder)
{
	const uint64 hundred_million = 100000000;
	int64		number = DatumGetInt64(value);
	uint64		magnitude = number;
	char	   *p = value_begin(out, LOGICALREP_COLUMN_TEXT, INT8_TEXT_LENGTH);

	if (number < 0)
	{
		*p++ = '-';
		magnitude = 0 - magnitude;
	}

	if (magnitude <= PG_UINT32_MAX)
		p = put_uint32(p, magnitude);
	else
	{
		uint64		upper = magnitude / hundred_million;

		if (upper <= PG_UINT32_MAX)
			p = put_uint32(p, upper);
		else
		{
			p = put_uint32(p, upper / hundred_million);
			p = put_8_digits(p, upper % hundred_million);
		}
		p = put_8_digits(p, magnitude % hundred_million);
	}
	value_end(out, p);
}

/* as oidout */
void
encode_oid_text(StringInfo out, Datum value, TypeEncoder *encoder)
{
	char	   *p = value_begin(out, LOGICALREP_COLUMN_TEXT, INT4_TEXT_LENGTH);

	value_end(out, put_uint32(p, DatumGetObjectId(value)));
}

/* as boolout */
void
encode_bool_text(StringInfo out, Datum value, TypeEncoder *encoder)
{
	char	   *p = value_begin(out, LOGICALREP_COLUMN_TEXT, 1);

	*p++ = DatumGetBool(value) ? 't' : 'f';
	value_end(out, p);
}

/* as charout: zero is no byte at all; how others appear depends on version */
void
encode_char_text(StringInfo out, Datum value, TypeEncoder *encoder)
{
	char		c = DatumGetChar(value);

	if (IS_HIGHBIT_SET(c))
		encode_by_function(out, value, encoder);
	else
	{
		char	   *p = value_begin(out, LOGICALREP_COLUMN_TEXT, 1);

		*p = c;
		value_end(out, c == '\0' ? p : p + 1);
	}
}

/* as boolsend */
void
encode_bool_binary(StringInfo out, Datum value, TypeEncoder *encoder)
{
	char	   *p = value_begin(out, LOGICALREP_COLUMN_BINARY, 1);

	*p++ = DatumGetBool(value) ? 1 : 0;
	value_end(out, p);
}

/* as charsend */
void
encode_1_byte(StringInfo out, Datum value, TypeEncoder *encoder)
{
	char	   *p = value_begin(out, LOGICALREP_COLUMN_BINARY, 1);

	*p++ = DatumGetChar(value);
	value_end(out, p);
}

/* as int2send */
void
encode_2_bytes(StringInfo out, Datum value, TypeEncoder *encoder)
{
	char	   *p = value_begin(out, LOGICALREP_COLUMN_BINARY, sizeof(uint16));
	uint16		word = pg_hton16(DatumGetUInt16(value));

	memcpy(p, &word, sizeof(word));
	value_end(out, p + sizeof(word));
}

/* as int4send, oidsend, float4send, date_send */
void
encode_4_bytes(StringInfo out, Datum value, TypeEncoder *encoder)
{
	char	   *p = value_begin(out, LOGICALREP_COLUMN_BINARY, sizeof(uint32));
	uint32		word = pg_hton32(DatumGetUInt32(value));

	memcpy(p, &word, sizeof(word));
	value_end(out, p + sizeof(word));
}

/* as int8send, float8send, timestamp_send, timestamptz_send, time_send */
void
encode_8_bytes(StringInfo out, Datum value, TypeEncoder *encoder)
{
	char	   *p = value_begin(out, LOGICALREP_COLUMN_BINARY, sizeof(uint64));
	uint64		word = pg_hton64((uint64) DatumGetInt64(value));

	memcpy(p, &word, sizeof(word));
	value_end(out, p + sizeof(word));
}
