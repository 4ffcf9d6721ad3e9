/*-------------------------------------------------------------------------
 *
 * encoder.c
 *	  Which encoder writes the values of which type.
 *
 * direct_text_encoder() and direct_binary_encoder() are called when a type's
 * encoder is resolved, once per type; the encoders themselves for each column
 * of each row, in the per-change memory context, which may receive detoasted
 * copies and strings.
 *
 * Types are recognized by their output and send functions rather than by
 * their own OIDs: a domain has those of its base type.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/detoast.h"
#include "encoder_bytes.h"
#include "replication/logicalproto.h"
#include "utils/fmgroids.h"
#include "utils/uuid.h"

/* "00" to "99" */
const char	decimal_pairs[] =
"0001020304050607080910111213141516171819"
"2021222324252627282930313233343536373839"
"4041424344454647484950515253545556575859"
"6061626364656667686970717273747576777879"
"8081828384858687888990919293949596979899";

/* "00" to "ff" */
const char	hex_pairs[] =
"000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
"202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f"
"404142434445464748494a4b4c4d4e4f505152535455565758595a5b5c5d5e5f"
"606162636465666768696a6b6c6d6e6f707172737475767778797a7b7c7d7e7f"
"808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f"
"a0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3b4b5b6b7b8b9babbbcbdbebf"
"c0c1c2c3c4c5c6c7c8c9cacbcccdcecfd0d1d2d3d4d5d6d7d8d9dadbdcdddedf"
"e0e1e2e3e4e5e6e7e8e9eaebecedeeeff0f1f2f3f4f5f6f7f8f9fafbfcfdfeff";

/*
 * A compressed or out-of-line value as a plain one, for unpacked_varlena().
 *
 * A new value that is out of line on disk arrives in memory behind an indirect
 * pointer.  It is used where it is, while the server's function would copy it.
 */
struct varlena *
unpack_toasted(struct varlena *varlena)
{
	if (VARATT_IS_EXTERNAL_INDIRECT(varlena))
	{
		struct varatt_indirect indirect;

		VARATT_EXTERNAL_GET_POINTER(indirect, varlena);
		varlena = (struct varlena *) indirect.pointer;
	}
	if (VARATT_IS_COMPRESSED(varlena) || VARATT_IS_EXTERNAL(varlena))
		varlena = pg_detoast_datum_packed(varlena);
	return varlena;
}

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
encode_by_function(StringInfo out, Datum value, TypeEncoder *encoder)
{
	if (encoder->binary)
	{
		bytea	   *bytes = SendFunctionCall(&encoder->function, value);

		append_value(out, LOGICALREP_COLUMN_BINARY,
					 VARDATA(bytes), VARSIZE(bytes) - VARHDRSZ);
		pfree(bytes);
	}
	else
	{
		char	   *string = OutputFunctionCall(&encoder->function, value);

		if (encoder->convert)
			append_converted(out, LOGICALREP_COLUMN_TEXT,
							 string, strlen(string));
		else
			append_value(out, LOGICALREP_COLUMN_TEXT, string, strlen(string));
		pfree(string);
	}
}
