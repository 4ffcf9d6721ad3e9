/*-------------------------------------------------------------------------
 *
 * encoder_bytes.h
 *	  What the direct encoders share: writing into the output buffer.
 *
 * Included by the encoders alone.  A direct encoder reserves room for the
 * longest form of its value, writes the bytes in place, and fills in the
 * length word afterwards.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PGOUTPUT_EXT_ENCODER_BYTES_H
#define PGOUTPUT_EXT_ENCODER_BYTES_H

#include "access/htup_details.h"	/* brings the varlena macros */
#include "datatype/timestamp.h"
#include "pgtime.h"
#include "port/pg_bswap.h"
#include "values/type_encoder.h"

/* kind byte and length word in front of a value */
#define VALUE_HEADER_SIZE	5

/*
 * Values that grow in text are left to the function when longer, so that
 * where memory ends the error is its own.
 */
#define MAX_DIRECT_SIZE		(64 * 1024 * 1024)

extern const char decimal_pairs[];
extern const char hex_pairs[];
extern struct varlena *unpack_toasted(struct varlena *varlena);
extern void append_converted(StringInfo out, char kind, const char *string,
							 int len);

/*
 * Encodes any value by calling encoder->function, an output function unless
 * encoder->binary; converts text if encoder->convert.
 */
extern void encode_by_function(StringInfo out, Datum value,
							   TypeEncoder *encoder);

/*
 * Makes room for a value of at most "room" bytes and returns where its bytes
 * go.  The buffer counts the value only when value_end() is called, so a
 * caller may still turn to encode_by_function() instead.
 */
static inline char *
value_begin(StringInfo out, char kind, int room)
{
	char	   *start;

	if (unlikely(out->len + VALUE_HEADER_SIZE + room >= out->maxlen))
		enlargeStringInfo(out, VALUE_HEADER_SIZE + room);
	start = out->data + out->len;
	*start = kind;
	return start + VALUE_HEADER_SIZE;
}

/* Completes a value that ends before "end". */
static inline void
value_end(StringInfo out, const char *end)
{
	char	   *start = out->data + out->len;
	uint32		len = end - (start + VALUE_HEADER_SIZE);
	uint32		word = pg_hton32(len);

	memcpy(start + 1, &word, sizeof(word));
	out->len += VALUE_HEADER_SIZE + len;
}

/*
 * Appends a whole value.  If there is no room yet, it is made for the header
 * and then for the value, so that the error of a buffer that cannot grow
 * counts bytes as usual.
 */
static inline void
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

/* Writes a number below 100 as two digits. */
static inline char *
put_2_digits(char *p, uint32 number)
{
	memcpy(p, decimal_pairs + 2 * number, 2);
	return p + 2;
}

/* Writes a number below 10000 as four digits. */
static inline char *
put_4_digits(char *p, uint32 number)
{
	put_2_digits(p, number / 100);
	return put_2_digits(p + 2, number % 100);
}

/* Writes a number below 10000 without leading zeroes. */
static inline char *
put_up_to_4_digits(char *p, uint32 number)
{
	if (number >= 1000)
		return put_4_digits(p, number);
	if (number >= 100)
	{
		*p++ = '0' + number / 100;
		return put_2_digits(p, number % 100);
	}
	if (number >= 10)
		return put_2_digits(p, number);
	*p++ = '0' + number;
	return p;
}

/* Writes a number of at most ten digits without leading zeroes. */
static inline char *
put_uint32(char *p, uint32 number)
{
	if (number < 10000)
		return put_up_to_4_digits(p, number);
	if (number < 100000000)
		p = put_up_to_4_digits(p, number / 10000);
	else
	{
		p = put_up_to_4_digits(p, number / 100000000);
		p = put_4_digits(p, number / 10000 % 10000);
	}
	return put_4_digits(p, number % 10000);
}

/* The bytes of a short, plain or TOASTed (but not on disk) varlena. */
static inline struct varlena *
unpacked_varlena(Datum value)
{
	struct varlena *varlena = (struct varlena *) DatumGetPointer(value);

	if (unlikely(VARATT_IS_COMPRESSED(varlena) ||
				 VARATT_IS_EXTERNAL(varlena)))
		varlena = unpack_toasted(varlena);
	return varlena;
}

#endif							/* PGOUTPUT_EXT_ENCODER_BYTES_H */
