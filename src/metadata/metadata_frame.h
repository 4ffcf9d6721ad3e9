/*-------------------------------------------------------------------------
 *
 * metadata_frame.h
 *	  What the metadata frames share: how they are sent.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PGOUTPUT_EXT_METADATA_FRAME_H
#define PGOUTPUT_EXT_METADATA_FRAME_H

#include "stream/message.h"
#include "stream/transaction.h"

/* A type that the client was told of. */
typedef struct ToldType
{
	Oid			type_id;		/* hash key */
	uint64		content;		/* hash value of the frame's content */
	uint64		checked;		/* type_changes when that was the type's */
} ToldType;

/* What the client was told, in all or inside one streamed transaction. */
typedef struct MetadataTold
{
	PluginState *state;
	HTAB	   *types;			/* of ToldType, NULL if none */
	bool		publications;	/* was it told of them? */
	uint64		publications_content;
	uint64		publications_checked;
} MetadataTold;

/* A session's metadata, if it asked for any. */
typedef struct Metadata
{
	MemoryContext context;		/* reset when frames have been sent */
	MetadataTold told;
} Metadata;

/* What a frame's maker has to give back at its end. */
typedef struct FrameScope
{
	MemoryContext old_context;
	int			settings_level; /* of settings, 0 if they are the session's */
} FrameScope;

extern FrameScope frame_scope_begin(PluginState *state, bool settings);
extern void frame_scope_end(PluginState *state, const FrameScope *scope);
extern void frame_send(LogicalDecodingContext *ctx, ReorderBufferTXN *txn,
					   const char *prefix, StringInfo content);
extern uint64 frame_hash(StringInfo content);

extern MetadataTold *told_in_stream(PluginState *state, ReorderBufferTXN *txn,
									bool make);

#endif							/* PGOUTPUT_EXT_METADATA_FRAME_H */
