/*-------------------------------------------------------------------------
 *
 * encoder.c
 *	  Which encoder writes the values of which type.
 *
 * direct_text_encoder() and direct_binary_encoder() are called when a type's
 * encoder is resolved, once per type.
 *
 * Types are recognized by their output and send functions rather than by
 * their own OIDs: a domain has those of its base type.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/fmgroids.h"
#include "utils/uuid.h"

#include "values/encoder.h"
#include "values/encoders.h"

/* Is a type of this representation a by-value type of "size" bytes? */
static bool
is_scalar(int16 typlen, bool typbyval, int16 size)
{
	return typlen == size && typbyval == (size < 8 || FLOAT8PASSBYVAL);
}

EncodeFunction
direct_text_encoder(Oid output_function, int16 typlen, bool typbyval,
					bool convert)
{
	bool		varlena = typlen == -1 && !typbyval;

	switch (output_function)
	{
		case F_INT2OUT:
			return is_scalar(typlen, typbyval, 2) ? encode_int2_text : NULL;
		case F_INT4OUT:
			return is_scalar(typlen, typbyval, 4) ? encode_int4_text : NULL;
		case F_INT8OUT:
			return is_scalar(typlen, typbyval, 8) ? encode_int8_text : NULL;
		case F_OIDOUT:
			return is_scalar(typlen, typbyval, 4) ? encode_oid_text : NULL;
		case F_BOOLOUT:
			return is_scalar(typlen, typbyval, 1) ? encode_bool_text : NULL;
		case F_CHAROUT:
			return is_scalar(typlen, typbyval, 1) ? encode_char_text : NULL;
		case F_TEXTOUT:
		case F_VARCHAROUT:
		case F_BPCHAROUT:
		case F_JSON_OUT:
			if (!varlena)
				return NULL;
			return convert ? encode_string_text_converted : encode_string_text;
		case F_NAMEOUT:
			return typlen == NAMEDATALEN ? encode_name : NULL;
		case F_BYTEAOUT:
			return varlena ? encode_bytea_text : NULL;
		case F_UUID_OUT:
			return typlen == UUID_LEN ? encode_uuid_text : NULL;
		case F_FLOAT4OUT:
			return is_scalar(typlen, typbyval, 4) ? encode_float4_text : NULL;
		case F_FLOAT8OUT:
			return is_scalar(typlen, typbyval, 8) ? encode_float8_text : NULL;
		case F_NUMERIC_OUT:
			return varlena ? encode_numeric_text : NULL;
		case F_INET_OUT:
			return varlena ? encode_inet_text : NULL;
		case F_CIDR_OUT:
			return varlena ? encode_cidr_text : NULL;
		case F_JSONB_OUT:
			return varlena ? encode_jsonb : NULL;
		case F_DATE_OUT:
			return is_scalar(typlen, typbyval, 4) ? encode_date_text : NULL;
		case F_TIMESTAMP_OUT:
			return is_scalar(typlen, typbyval, 8) ? encode_timestamp_text : NULL;
		case F_TIMESTAMPTZ_OUT:
			return is_scalar(typlen, typbyval, 8) ? encode_timestamptz_text : NULL;
		case F_TIME_OUT:
			return is_scalar(typlen, typbyval, 8) ? encode_time_text : NULL;
		case F_TIMETZ_OUT:
			return typlen == 12 ? encode_timetz_text : NULL;
		case F_INTERVAL_OUT:
			return typlen == sizeof(Interval) ? encode_interval_text : NULL;
		default:
			return NULL;
	}
}

EncodeFunction
direct_binary_encoder(Oid send_function, int16 typlen, bool typbyval,
					  bool convert)
{
	bool		varlena = typlen == -1 && !typbyval;

	switch (send_function)
	{
		case F_BOOLSEND:
			return is_scalar(typlen, typbyval, 1) ? encode_bool_binary : NULL;
		case F_CHARSEND:
			return is_scalar(typlen, typbyval, 1) ? encode_1_byte : NULL;
		case F_INT2SEND:
			return is_scalar(typlen, typbyval, 2) ? encode_2_bytes : NULL;
		case F_INT4SEND:
		case F_OIDSEND:
		case F_FLOAT4SEND:
		case F_DATE_SEND:
			return is_scalar(typlen, typbyval, 4) ? encode_4_bytes : NULL;
		case F_INT8SEND:
		case F_FLOAT8SEND:
		case F_TIMESTAMP_SEND:
		case F_TIMESTAMPTZ_SEND:
		case F_TIME_SEND:
			return is_scalar(typlen, typbyval, 8) ? encode_8_bytes : NULL;
		case F_TEXTSEND:
		case F_VARCHARSEND:
		case F_BPCHARSEND:
		case F_JSON_SEND:
			if (!varlena)
				return NULL;
			return convert ? encode_string_binary_converted : encode_varlena_binary;
		case F_BYTEASEND:
			return varlena ? encode_varlena_binary : NULL;
		case F_NAMESEND:
			return typlen == NAMEDATALEN ? encode_name : NULL;
		case F_UUID_SEND:
			return typlen == UUID_LEN ? encode_uuid_binary : NULL;
		case F_NUMERIC_SEND:
			return varlena ? encode_numeric_binary : NULL;
		case F_JSONB_SEND:
			return varlena ? encode_jsonb : NULL;
		case F_TIMETZ_SEND:
			return typlen == 12 ? encode_timetz_binary : NULL;
		case F_INTERVAL_SEND:
			return typlen == sizeof(Interval) ? encode_interval_binary : NULL;
		default:
			return NULL;
	}
}

void
encoders_check(void)
{
	check_numeric_form();
}
