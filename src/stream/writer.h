/*-------------------------------------------------------------------------
 *
 * writer.h
 *	  The coalescing writer in front of the walsender's own.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PGOUTPUT_EXT_WRITER_H
#define PGOUTPUT_EXT_WRITER_H

#include "replication/logical.h"

extern void writer_install(LogicalDecodingContext *ctx, bool coalesce);

#endif							/* PGOUTPUT_EXT_WRITER_H */
