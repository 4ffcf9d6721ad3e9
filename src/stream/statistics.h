/*-------------------------------------------------------------------------
 *
 * statistics.h
 *	  What a session has done, in the server's log.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PGOUTPUT_EXT_STATISTICS_H
#define PGOUTPUT_EXT_STATISTICS_H

#include "plugin.h"

extern void statistics_install(LogicalDecodingContext *ctx);

#endif							/* PGOUTPUT_EXT_STATISTICS_H */
