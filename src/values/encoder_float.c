/*-------------------------------------------------------------------------
 *
 * encoder_float.c
 *	  Direct text encoders of float4 and float8.
 *
 * Called for each value through TypeEncoder.encode; nothing is allocated.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/shortest_dec.h"
#include "values/encoders.h"
#include "replication/logicalproto.h"
#include "utils/float.h"

/* as float4out; fewer than all digits are left to it */
void
encode_float4_text(StringInfo out, Datum value, TypeEncoder *encoder)
{
	char	   *p;

	if (extra_float_digits <= 0)
	{
		encode_by_function(out, value, encoder);
		return;
	}

	p = value_begin(out, LOGICALREP_COLUMN_TEXT, FLOAT_SHORTEST_DECIMAL_LEN);
	value_end(out,
			  p + float_to_shortest_decimal_bufn(DatumGetFloat4(value), p));
}

/* as float8out; fewer than all digits are left to it */
void
encode_float8_text(StringInfo out, Datum value, TypeEncoder *encoder)
{
	char	   *p;

	if (extra_float_digits <= 0)
	{
		encode_by_function(out, value, encoder);
		return;
	}

	p = value_begin(out, LOGICALREP_COLUMN_TEXT, DOUBLE_SHORTEST_DECIMAL_LEN);
	value_end(out,
			  p + double_to_shortest_decimal_bufn(DatumGetFloat8(value), p));
}
