/*-------------------------------------------------------------------------
 *
 * encoder.h
 *	  Encoders of single column values of TupleData.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PGOUTPUT_EXT_ENCODER_H
#define PGOUTPUT_EXT_ENCODER_H

#include "fmgr.h"
#include "lib/stringinfo.h"

typedef struct TypeEncoder TypeEncoder;

/*
 * Appends one column value of TupleData to "out": the kind byte ('t' or 'b'),
 * the Int32 length in network order, and the value's bytes.  The value is not
 * null and no on-disk TOAST pointer, but a varlena may still be compressed,
 * short, indirect or expanded.  May allocate in CurrentMemoryContext, which
 * the caller resets after the change.
 */
typedef void (*EncodeFunction) (StringInfo out, Datum value,
								TypeEncoder *encoder);

/*
 * How the values of one type are sent; shared by all columns of the type.
 * "function" is set with a direct encoder too: it falls back to it for
 * settings and values that it does not write itself.
 */
struct TypeEncoder
{
	Oid			type_id;		/* hash key */
	bool		binary;			/* 'b' and the send function, else 't' */
	bool		convert;		/* text needs conversion to client encoding */
	int16		typlen;
	bool		typbyval;
	EncodeFunction encode;
	FmgrInfo	function;		/* the type's output or send function */
};

/*
 * The direct encoder that writes the same bytes as the text output (binary
 * send) function with the given OID, for values of the given representation;
 * NULL if there is none, and the function must be called.  With "convert" the
 * stream needs pg_server_to_client() for anything that may not be ASCII.
 */
extern EncodeFunction direct_text_encoder(Oid output_function, int16 typlen,
										  bool typbyval, bool convert);
extern EncodeFunction direct_binary_encoder(Oid send_function, int16 typlen,
											bool typbyval, bool convert);

/*
 * Encodes any value by calling encoder->function, an output function unless
 * encoder->binary; converts text if encoder->convert.
 */
extern void encode_by_function(StringInfo out, Datum value,
							   TypeEncoder *encoder);

#endif							/* PGOUTPUT_EXT_ENCODER_H */
