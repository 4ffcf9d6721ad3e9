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

#include "encoder_bytes.h"
#include "replication/logicalproto.h"
#include "utils/builtins.h"

/* as int2out */
void
encode_int2_text(StringInfo out, Datum value, TypeEncoder *encoder)
{
	char	   *p = value_begin(out, LOGICALREP_COLUMN_TEXT, 12);

	value_end(out, p + pg_ltoa(DatumGetInt16(value), p));
}

/* as int4out */
void
encode_int4_text(StringInfo out, Datum value, TypeEncoder *encoder)
{
	char	   *p = value_begin(out, LOGICALREP_COLUMN_TEXT, 12);

	value_end(out, p + pg_ltoa(DatumGetInt32(value), p));
}

/* as int8out */
void
encode_int8_text(StringInfo out, Datum value, TypeEncoder *encoder)
{
	char	   *p = value_begin(out, LOGICALREP_COLUMN_TEXT, MAXINT8LEN + 1);

	value_end(out, p + pg_lltoa(DatumGetInt64(value), p));
}

/* as oidout */
void
encode_oid_text(StringInfo out, Datum value, TypeEncoder *encoder)
{
	char	   *p = value_begin(out, LOGICALREP_COLUMN_TEXT, 12);

	value_end(out, p + pg_ultoa_n(DatumGetObjectId(value), p));
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
