/*-------------------------------------------------------------------------
 *
 * type_encoder.h
 *	  How the values of a type are written.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PGOUTPUT_EXT_TYPE_ENCODER_H
#define PGOUTPUT_EXT_TYPE_ENCODER_H

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

#endif							/* PGOUTPUT_EXT_TYPE_ENCODER_H */
