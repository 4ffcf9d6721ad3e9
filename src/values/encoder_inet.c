/*-------------------------------------------------------------------------
 *
 * encoder_inet.c
 *	  Direct text encoders of inet and cidr.
 *
 * Called for each value through TypeEncoder.encode, in the per-change memory
 * context, where detoasted values are left.  IPv4 addresses are written here;
 * the shortest form of an IPv6 address is left to the output function.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <sys/socket.h>

#include "values/encoders.h"
#include "replication/logicalproto.h"
#include "utils/inet.h"

#define IPV4_BYTES			4
#define IPV4_BITS			32
#define IPV4_TEXT_LENGTH	32	/* of 255.255.255.255/32, and to spare */

/* Encodes an IPv4 address; false if it is for the output function to do it. */
static bool
encode_ipv4(StringInfo out, Datum value, bool is_cidr)
{
	struct varlena *varlena = unpacked_varlena(value);
	const inet_struct *address = (const inet_struct *) VARDATA_ANY(varlena);
	char	   *p;
	int			i;

	if (address->family != PGSQL_AF_INET || address->bits > IPV4_BITS)
		return false;

	p = value_begin(out, LOGICALREP_COLUMN_TEXT, IPV4_TEXT_LENGTH);
	for (i = 0; i < IPV4_BYTES; i++)
	{
		if (i > 0)
			*p++ = '.';
		p = put_up_to_4_digits(p, address->ipaddr[i]);
	}
	if (is_cidr || address->bits != IPV4_BITS)
	{
		*p++ = '/';
		p = put_up_to_4_digits(p, address->bits);
	}
	value_end(out, p);
	return true;
}

/* as inet_out */
void
encode_inet_text(StringInfo out, Datum value, TypeEncoder *encoder)
{
	if (!encode_ipv4(out, value, false))
		encode_by_function(out, value, encoder);
}

/* as cidr_out, which always shows the length of the network part */
void
encode_cidr_text(StringInfo out, Datum value, TypeEncoder *encoder)
{
	if (!encode_ipv4(out, value, true))
		encode_by_function(out, value, encoder);
}
