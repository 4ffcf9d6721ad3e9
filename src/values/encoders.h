/*-------------------------------------------------------------------------
 *
 * encoders.h
 *	  The direct encoders, for encoder.c, which chooses among them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PGOUTPUT_EXT_ENCODERS_H
#define PGOUTPUT_EXT_ENCODERS_H

#include "values/encoder_bytes.h"

/* encoder_integer.c */
extern void encode_int2_text(StringInfo out, Datum value, TypeEncoder *encoder);
extern void encode_int4_text(StringInfo out, Datum value, TypeEncoder *encoder);
extern void encode_int8_text(StringInfo out, Datum value, TypeEncoder *encoder);
extern void encode_oid_text(StringInfo out, Datum value, TypeEncoder *encoder);
extern void encode_bool_text(StringInfo out, Datum value, TypeEncoder *encoder);
extern void encode_char_text(StringInfo out, Datum value, TypeEncoder *encoder);
extern void encode_1_byte(StringInfo out, Datum value, TypeEncoder *encoder);
extern void encode_2_bytes(StringInfo out, Datum value, TypeEncoder *encoder);
extern void encode_4_bytes(StringInfo out, Datum value, TypeEncoder *encoder);
extern void encode_8_bytes(StringInfo out, Datum value, TypeEncoder *encoder);
extern void encode_bool_binary(StringInfo out, Datum value,
							   TypeEncoder *encoder);

/* encoder_string.c */
extern void encode_string_text(StringInfo out, Datum value,
							   TypeEncoder *encoder);
extern void encode_string_text_converted(StringInfo out, Datum value,
										 TypeEncoder *encoder);
extern void encode_string_binary_converted(StringInfo out, Datum value,
										   TypeEncoder *encoder);
extern void encode_varlena_binary(StringInfo out, Datum value,
								  TypeEncoder *encoder);
extern void encode_name(StringInfo out, Datum value, TypeEncoder *encoder);
extern void encode_bytea_text(StringInfo out, Datum value,
							  TypeEncoder *encoder);
extern void encode_uuid_text(StringInfo out, Datum value, TypeEncoder *encoder);
extern void encode_uuid_binary(StringInfo out, Datum value,
							   TypeEncoder *encoder);

/* encoder_float.c */
extern void encode_float4_text(StringInfo out, Datum value,
							   TypeEncoder *encoder);
extern void encode_float8_text(StringInfo out, Datum value,
							   TypeEncoder *encoder);

/* encoder_numeric.c */
extern void encode_numeric_text(StringInfo out, Datum value,
								TypeEncoder *encoder);
extern void encode_numeric_binary(StringInfo out, Datum value,
								  TypeEncoder *encoder);
extern int	numeric_text_room(const char *data, int len);
extern char *put_numeric(char *p, const char *data, int len);

extern void check_numeric_form(void);

/* encoder_jsonb.c */
extern void encode_jsonb(StringInfo out, Datum value, TypeEncoder *encoder);

/* encoder_datetime.c */
extern void encode_date_text(StringInfo out, Datum value, TypeEncoder *encoder);
extern void encode_timestamp_text(StringInfo out, Datum value,
								  TypeEncoder *encoder);
extern void encode_timestamptz_text(StringInfo out, Datum value,
									TypeEncoder *encoder);
extern void encode_time_text(StringInfo out, Datum value, TypeEncoder *encoder);
extern void encode_timetz_text(StringInfo out, Datum value,
							   TypeEncoder *encoder);
extern void encode_timetz_binary(StringInfo out, Datum value,
								 TypeEncoder *encoder);
extern void encode_interval_text(StringInfo out, Datum value,
								 TypeEncoder *encoder);
extern void encode_interval_binary(StringInfo out, Datum value,
								   TypeEncoder *encoder);

/* encoder_inet.c */
extern void encode_inet_text(StringInfo out, Datum value, TypeEncoder *encoder);
extern void encode_cidr_text(StringInfo out, Datum value, TypeEncoder *encoder);

/* encoder_zone.c */
extern bool zone_offset(pg_tz *zone, TimestampTz timestamp, int *offset);

#endif							/* PGOUTPUT_EXT_ENCODERS_H */
