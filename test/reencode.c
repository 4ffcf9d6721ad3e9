/*-------------------------------------------------------------------------
 *
 * reencode.c
 *	  Reads a message and writes it again, for the tests.
 *
 *	reencode(message bytea, streaming boolean) RETURNS bytea
 *		the message written again from what the parser found in it
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "compat.h"
#include "parser_write.h"

PG_MODULE_MAGIC;

COMPAT_FUNCTION_INFO_V1(reencode);

Datum
reencode(PG_FUNCTION_ARGS)
{
	bytea	   *bytes = PG_GETARG_BYTEA_PP(0);
	Size		size = VARSIZE_ANY_EXHDR(bytes);
	WireMessage message;
	WireError	error;
	bytea	   *result = palloc(VARHDRSZ + size);
	Size		written;

	if (!wire_parse((const unsigned char *) VARDATA_ANY(bytes), size,
					PG_GETARG_BOOL(1), &message, &error))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
				 errmsg("malformed message at byte %zu: expected %s, found %s",
						error.offset, error.expected, error.found)));
	written = wire_write(&message, (unsigned char *) VARDATA(result), size);
	if (written > size)
		elog(ERROR, "message of %zu bytes became %zu bytes", size, written);
	SET_VARSIZE(result, VARHDRSZ + written);
	PG_RETURN_BYTEA_P(result);
}
