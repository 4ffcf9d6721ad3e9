/*-------------------------------------------------------------------------
 *
 * encoder_string.c
 *	  Direct encoders of strings of characters and bytes: text and its kin,
 *	  name, json, bytea, uuid.
 *
 * Called for each value through TypeEncoder.encode, in the per-change memory
 * context, where detoasted values and converted strings are left.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "values/encoders.h"
#include "mb/pg_wchar.h"
#include "replication/logicalproto.h"
#include "utils/bytea.h"
#include "utils/uuid.h"

#define UUID_TEXT_LENGTH	36

/* as textout, varcharout, bpcharout, json_out */
void
encode_string_text(StringInfo out, Datum value, TypeEncoder *encoder)
{
	struct varlena *string = unpacked_varlena(value);

	append_value(out, LOGICALREP_COLUMN_TEXT,
				 VARDATA_ANY(string), VARSIZE_ANY_EXHDR(string));
}

/* the same, in the client's encoding */
void
encode_string_text_converted(StringInfo out, Datum value, TypeEncoder *encoder)
{
	struct varlena *string = unpacked_varlena(value);

	append_converted(out, LOGICALREP_COLUMN_TEXT,
					 VARDATA_ANY(string), VARSIZE_ANY_EXHDR(string));
}

/* as textsend, varcharsend, bpcharsend, json_send */
void
encode_string_binary_converted(StringInfo out, Datum value,
							   TypeEncoder *encoder)
{
	struct varlena *string = unpacked_varlena(value);

	append_converted(out, LOGICALREP_COLUMN_BINARY,
					 VARDATA_ANY(string), VARSIZE_ANY_EXHDR(string));
}

/* as byteasend, and textsend and its kin in the server's encoding */
void
encode_varlena_binary(StringInfo out, Datum value, TypeEncoder *encoder)
{
	struct varlena *bytes = unpacked_varlena(value);

	append_value(out, LOGICALREP_COLUMN_BINARY,
				 VARDATA_ANY(bytes), VARSIZE_ANY_EXHDR(bytes));
}

/* as nameout, namesend */
void
encode_name(StringInfo out, Datum value, TypeEncoder *encoder)
{
	char	   *name = NameStr(*DatumGetName(value));
	char		kind = encoder->binary ? LOGICALREP_COLUMN_BINARY :
	LOGICALREP_COLUMN_TEXT;

	if (encoder->convert)
		append_converted(out, kind, name, strlen(name));
	else
		append_value(out, kind, name, strlen(name));
}

#ifdef __SSE2__
/* The hexadecimal digits of sixteen numbers below 16. */
static inline __m128i
hex_digits(__m128i numbers)
{
	__m128i		letters = _mm_cmpgt_epi8(numbers, _mm_set1_epi8(9));

	return _mm_add_epi8(_mm_add_epi8(numbers, _mm_set1_epi8('0')),
						_mm_and_si128(letters,
									  _mm_set1_epi8('a' - '0' - 10)));
}
#endif

/* Writes bytes as two hexadecimal digits each. */
static inline char *
put_hex(char *p, const unsigned char *bytes, int len)
{
	int			i = 0;

#ifdef __SSE2__
	const		__m128i low_bits = _mm_set1_epi8(0x0F);

	for (; i + 16 <= len; i += 16)
	{
		__m128i		chunk = _mm_loadu_si128((const __m128i *) (bytes + i));
		__m128i		upper = _mm_and_si128(_mm_srli_epi16(chunk, 4), low_bits);
		__m128i		lower = _mm_and_si128(chunk, low_bits);

		_mm_storeu_si128((__m128i *) (p + 2 * i),
						 hex_digits(_mm_unpacklo_epi8(upper, lower)));
		_mm_storeu_si128((__m128i *) (p + 2 * i + 16),
						 hex_digits(_mm_unpackhi_epi8(upper, lower)));
	}
#endif
	for (; i < len; i++)
		memcpy(p + 2 * i, hex_pairs + 2 * bytes[i], 2);
	return p + 2 * len;
}

/* as byteaout; bytea_output = escape is left to it */
void
encode_bytea_text(StringInfo out, Datum value, TypeEncoder *encoder)
{
	struct varlena *bytes;
	int			len;
	char	   *p;

	if (bytea_output != BYTEA_OUTPUT_HEX)
	{
		encode_by_function(out, value, encoder);
		return;
	}

	bytes = unpacked_varlena(value);
	len = VARSIZE_ANY_EXHDR(bytes);
	if (len > MAX_DIRECT_SIZE)
	{
		encode_by_function(out, PointerGetDatum(bytes), encoder);
		return;
	}

	p = value_begin(out, LOGICALREP_COLUMN_TEXT, 2 + 2 * len);
	*p++ = '\\';
	*p++ = 'x';
	value_end(out, put_hex(p, (unsigned char *) VARDATA_ANY(bytes), len));
}

/* as uuid_out */
void
encode_uuid_text(StringInfo out, Datum value, TypeEncoder *encoder)
{
	char		digits[2 * UUID_LEN];
	char	   *p = value_begin(out, LOGICALREP_COLUMN_TEXT, UUID_TEXT_LENGTH);

	put_hex(digits, DatumGetUUIDP(value)->data, UUID_LEN);
	memcpy(p, digits, 8);
	p[8] = '-';
	memcpy(p + 9, digits + 8, 4);
	p[13] = '-';
	memcpy(p + 14, digits + 12, 4);
	p[18] = '-';
	memcpy(p + 19, digits + 16, 4);
	p[23] = '-';
	memcpy(p + 24, digits + 20, 12);
	value_end(out, p + UUID_TEXT_LENGTH);
}

/* as uuid_send */
void
encode_uuid_binary(StringInfo out, Datum value, TypeEncoder *encoder)
{
	char	   *p = value_begin(out, LOGICALREP_COLUMN_BINARY, UUID_LEN);

	memcpy(p, DatumGetUUIDP(value)->data, UUID_LEN);
	value_end(out, p + UUID_LEN);
}
