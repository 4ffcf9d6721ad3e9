/*
 * writer.h - the coalescing writer in front of the walsender's own.
 */
#ifndef PGOUTPUT_EXT_WRITER_H
#define PGOUTPUT_EXT_WRITER_H

#include "replication/logical.h"

/*
 * Hangs on the decoding context: the struct that ctx->output_plugin_private
 * points to has a "struct Writer *" as its first member, which writer_install
 * sets and the callbacks below follow.
 */
struct Writer;

extern void writer_install(LogicalDecodingContext *ctx, bool coalesce);

#endif							/* PGOUTPUT_EXT_WRITER_H */
