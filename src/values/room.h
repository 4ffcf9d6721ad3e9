/*-------------------------------------------------------------------------
 *
 * room.h
 *	  Room in the buffer of the message that is being written.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PGOUTPUT_EXT_ROOM_H
#define PGOUTPUT_EXT_ROOM_H

#include "lib/stringinfo.h"

/* Makes room for "needed" bytes, which are hardly ever missing. */
static inline void
message_room(StringInfo out, int needed)
{
	if (unlikely(out->len + needed >= out->maxlen))
		enlargeStringInfo(out, needed);
}

#endif							/* PGOUTPUT_EXT_ROOM_H */
