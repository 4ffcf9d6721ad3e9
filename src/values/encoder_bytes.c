/*-------------------------------------------------------------------------
 *
 * encoder_bytes.c
 *	  What the encoders share: digits, values that are stored out of line, and
 *	  what is left to the type's own function.
 *
 * Called for each value that needs it, in the per-change memory context, which
 * may receive detoasted copies and converted strings.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/detoast.h"
#include "mb/pg_wchar.h"
#include "replication/logicalproto.h"

#include "values/encoder_bytes.h"

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
