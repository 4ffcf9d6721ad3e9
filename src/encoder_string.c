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

#include "encoder_bytes.h"
#include "mb/pg_wchar.h"
#include "replication/logicalproto.h"
#include "utils/bytea.h"
#include "utils/uuid.h"

/*
 * Appends a whole value.  If there is no room yet, it is made for the header
 * and then for the value, so that the error of a buffer that cannot grow
 * counts bytes as usual.
 */
void
append_value(StringInfo out, char kind, const char *bytes, int len)
{
	char	   *p;

	if (likely(len < out->maxlen - out->len - VALUE_HEADER_SIZE))
	{
		p = value_begin(out, kind, 0);
		memcpy(p, bytes, len);
		value_end(out, p + len);
	}
	else
	{
		uint32		word = pg_hton32((uint32) len);

		p = value_begin(out, kind, 0);
		memcpy(p - sizeof(word), &word, sizeof(word));
		out->len += VALUE_HEADER_SIZE;
		appendBinaryStringInfoNT(out, bytes, len);
	}
}

/* Is each byte of the string ASCII? */
static bool
is_ascii(const char *string, int len)
{
	const char *end = string + len;
	uint64		bits = 0;

	for (; string + sizeof(uint64) <= end; string += sizeof(uint64))
	{
		uint64		chunk;

		memcpy(&chunk, string, sizeof(chunk));
		bits |= chunk;
	}
	for (; string < end; string++)
		bits |= (unsigned char) *string;

	return (bits & UINT64CONST(0x8080808080808080)) == 0;
}

/*
 * Appends a string in the client's encoding.  ASCII is the same in each of
 * them.
 */
void
append_converted(StringInfo out, char kind, const char *string, int len)
{
	char	   *converted;

	if (is_ascii(string, len))
	{
		append_value(out, kind, string, len);
		return;
	}

	converted = pg_server_to_client(string, len);
	if (converted == string)
		append_value(out, kind, string, len);
	else
	{
		append_value(out, kind, converted, strlen(converted));
		pfree(converted);
	}
}

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

/* Writes bytes as two hexadecimal digits each. */
static char *
put_hex(char *p, const unsigned char *bytes, int len)
{
	int			i;

	for (i = 0; i < len; i++)
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
	const unsigned char *bytes = DatumGetUUIDP(value)->data;
	char	   *p = value_begin(out, LOGICALREP_COLUMN_TEXT, 2 * UUID_LEN + 4);

	p = put_hex(p, bytes, 4);
	*p++ = '-';
	p = put_hex(p, bytes + 4, 2);
	*p++ = '-';
	p = put_hex(p, bytes + 6, 2);
	*p++ = '-';
	p = put_hex(p, bytes + 8, 2);
	*p++ = '-';
	p = put_hex(p, bytes + 10, 6);
	value_end(out, p);
}

/* as uuid_send */
void
encode_uuid_binary(StringInfo out, Datum value, TypeEncoder *encoder)
{
	char	   *p = value_begin(out, LOGICALREP_COLUMN_BINARY, UUID_LEN);

	memcpy(p, DatumGetUUIDP(value)->data, UUID_LEN);
	value_end(out, p + UUID_LEN);
}
