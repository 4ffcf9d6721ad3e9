/*-------------------------------------------------------------------------
 *
 * encoder_check.c
 *	  Functions that compare the direct encoders with the server's functions.
 *
 * Functions of the extension pgoutput_ext_test:
 *
 *	encode_direct(value "any", is_binary bool) RETURNS bytea
 *		the value as the direct encoder sends it, null if there is none
 *	encode_by_function(value "any", is_binary bool) RETURNS bytea
 *		the value as the type's output or send function has it sent
 *	check_encoder(type regtype, is_binary bool, seed int8,
 *			count int8) RETURNS text
 *		compares both over random values; null if they are the same, else
 *		what differs
 *	time_encoder(type regtype, is_binary bool, count int8)
 *			RETURNS text
 *		the CPU time of both
 *
 * They run in the memory context of a query and read settings as it does.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <time.h>

#include "compat.h"
#include "values/encoder.h"
#include "values/encoder_bytes.h"
#include "encoder_check.h"
#include "libpq/pqformat.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "replication/logicalproto.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#define VALUES_PER_BUFFER	100
#define TIMED_VALUES		1000
#define TIMED_ROUNDS		10

COMPAT_FUNCTION_INFO_V1(encode_direct);
COMPAT_FUNCTION_INFO_V1(encode_by_server_function);
COMPAT_FUNCTION_INFO_V1(check_encoder);
COMPAT_FUNCTION_INFO_V1(time_encoder);

/* Sets up the encoder of a type; its "encode" is null if there is none. */
static void
init_encoder(TypeEncoder *encoder, Oid type, bool binary)
{
	Oid			function;
	bool		is_varlena;

	encoder->type_id = type;
	encoder->binary = binary;
	encoder->convert = pg_get_client_encoding() != GetDatabaseEncoding();
	get_typlenbyval(type, &encoder->typlen, &encoder->typbyval);
	if (binary)
	{
		getTypeBinaryOutputInfo(type, &function, &is_varlena);
		encoder->encode = direct_binary_encoder(function, encoder->typlen,
												encoder->typbyval,
												encoder->convert);
	}
	else
	{
		getTypeOutputInfo(type, &function, &is_varlena);
		encoder->encode = direct_text_encoder(function, encoder->typlen,
											  encoder->typbyval,
											  encoder->convert);
	}
	fmgr_info(function, &encoder->function);
}

/* Encodes a value as pgoutput does. */
static void
encode_by_server(StringInfo out, Datum value, TypeEncoder *encoder)
{
	StringInfoData text;
	char	   *string;

	if (encoder->binary)
	{
		bytea	   *bytes = OidSendFunctionCall(encoder->function.fn_oid, value);

		pq_sendbyte(out, LOGICALREP_COLUMN_BINARY);
		pq_sendint32(out, VARSIZE(bytes) - VARHDRSZ);
		pq_sendbytes(out, VARDATA(bytes), VARSIZE(bytes) - VARHDRSZ);
		return;
	}

	string = OidOutputFunctionCall(encoder->function.fn_oid, value);
	initStringInfo(&text);
	pq_sendtext(&text, string, strlen(string));
	pq_sendbyte(out, LOGICALREP_COLUMN_TEXT);
	pq_sendint32(out, text.len);
	pq_sendbytes(out, text.data, text.len);
	pfree(text.data);
	pfree(string);
}

static Datum
encode_argument(FunctionCallInfo fcinfo, bool direct)
{
	TypeEncoder encoder;
	StringInfoData out;

	init_encoder(&encoder, get_fn_expr_argtype(fcinfo->flinfo, 0),
				 PG_GETARG_BOOL(1));
	if (!direct)
		encoder.encode = encode_by_server;
	if (encoder.encode == NULL)
		PG_RETURN_NULL();

	initStringInfo(&out);
	encoder.encode(&out, PG_GETARG_DATUM(0), &encoder);
	PG_RETURN_DATUM(PointerGetDatum(cstring_to_text_with_len(out.data,
															 out.len)));
}

Datum
encode_direct(PG_FUNCTION_ARGS)
{
	return encode_argument(fcinfo, true);
}

Datum
encode_by_server_function(PG_FUNCTION_ARGS)
{
	return encode_argument(fcinfo, false);
}

/* Bytes as hexadecimal digits. */
static char *
hex_string(const char *bytes, int len)
{
	char	   *string = palloc(2 * len + 1);

	string[hex_encode(bytes, len, string)] = '\0';
	return string;
}

/* Compares a buffer full of random values; null if they are the same. */
static char *
check_buffer(TypeEncoder *encoder, RandomState *state, int count)
{
	StringInfoData direct;
	StringInfoData expected;
	int			i;

	initStringInfo(&direct);
	for (i = 0; i < count; i++)
	{
		Datum		value = random_value(encoder->type_id, state);
		int			start = direct.len;
		int			len;

		encoder->encode(&direct, value, encoder);
		len = direct.len - start;

		initStringInfo(&expected);
		encode_by_server(&expected, value, encoder);
		if (len != expected.len ||
			memcmp(direct.data + start, expected.data, len) != 0)
			return psprintf("direct %s, function %s",
							hex_string(direct.data + start, len),
							hex_string(expected.data, expected.len));
		pfree(expected.data);
	}
	return NULL;
}

Datum
check_encoder(PG_FUNCTION_ARGS)
{
	RandomState state = {PG_GETARG_INT64(2), false};
	int64		count = PG_GETARG_INT64(3);
	TypeEncoder encoder;
	MemoryContext context;
	MemoryContext caller;
	int64		i;

	init_encoder(&encoder, PG_GETARG_OID(0), PG_GETARG_BOOL(1));
	if (encoder.encode == NULL)
		PG_RETURN_TEXT_P(cstring_to_text("no direct encoder"));

	context = AllocSetContextCreate(CurrentMemoryContext, "random values",
									ALLOCSET_DEFAULT_SIZES);
	caller = MemoryContextSwitchTo(context);
	for (i = 0; i < count; i += VALUES_PER_BUFFER)
	{
		char	   *difference;

		CHECK_FOR_INTERRUPTS();
		difference = check_buffer(&encoder, &state,
								  Min(count - i, VALUES_PER_BUFFER));
		if (difference)
		{
			MemoryContextSwitchTo(caller);
			PG_RETURN_TEXT_P(cstring_to_text(difference));
		}
		MemoryContextReset(context);
	}
	MemoryContextSwitchTo(caller);
	MemoryContextDelete(context);
	PG_RETURN_NULL();
}

/* Nanoseconds of CPU time that a value takes, in the best of some rounds. */
static double
time_values(TypeEncoder *encoder, const Datum *values, int64 count)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "change",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext caller;
	StringInfoData out;
	double		best = 0;
	int			round;

	initStringInfo(&out);
	caller = MemoryContextSwitchTo(context);
	for (round = 0; round < TIMED_ROUNDS; round++)
	{
		clock_t		start = clock();
		double		elapsed;
		int64		i;

		for (i = 0; i < count; i++)
		{
			encoder->encode(&out, values[i % TIMED_VALUES], encoder);
			if (i % 16 == 15)	/* the columns of a row */
			{
				out.len = 0;
				MemoryContextReset(context);
			}
		}
		elapsed = (double) (clock() - start) / CLOCKS_PER_SEC;
		if (round == 0 || elapsed < best)
			best = elapsed;
	}
	MemoryContextSwitchTo(caller);
	MemoryContextDelete(context);
	return best * 1e9 / count;
}

Datum
time_encoder(PG_FUNCTION_ARGS)
{
	RandomState state = {0, true};
	int64		count = PG_GETARG_INT64(2);
	Datum		values[TIMED_VALUES];
	TypeEncoder encoder;
	double		direct;
	double		cached;
	double		server;
	int			i;

	init_encoder(&encoder, PG_GETARG_OID(0), PG_GETARG_BOOL(1));
	if (encoder.encode == NULL)
		PG_RETURN_NULL();

	for (i = 0; i < TIMED_VALUES; i++)
		values[i] = random_value(encoder.type_id, &state);
	direct = time_values(&encoder, values, count);
	encoder.encode = encode_by_function;
	cached = time_values(&encoder, values, count);
	encoder.encode = encode_by_server;
	server = time_values(&encoder, values, count);
	PG_RETURN_TEXT_P(cstring_to_text(psprintf("%.1f ns, %.1f ns by a function looked up once (%.2f), %.1f ns as pgoutput (%.2f)",
											  direct, cached, direct / cached,
											  server, direct / server)));
}
