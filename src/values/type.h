/*-------------------------------------------------------------------------
 *
 * type.h
 *	  Column encoders, shared by type.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PGOUTPUT_EXT_TYPE_H
#define PGOUTPUT_EXT_TYPE_H

#include "values/type_encoder.h"
#include "plugin.h"

/*
 * A type's encoder and how long it may be used.  The encoder of a type whose
 * output depends on other types (arrays, composites, ranges) or on functions
 * that can be replaced is good for one generation of all types only.
 *
 * encoder.encode is always good to be called: where the encoder has to be
 * looked up first, it points to a function that does so.
 */
typedef struct TypeEntry
{
	TypeEncoder encoder;		/* must be first: encoders get it as such */
	PluginState *state;
	bool		valid;			/* not changed since it was looked up */
	bool		dependent;
	uint64		generation;
	MemoryContext context;		/* of what the function remembers, if any */
	struct TypeEntry *next;		/* with the same hash value */
} TypeEntry;

extern void types_init(PluginState *state);
extern TypeEntry *type_entry(PluginState *state, Oid type_id);
extern void types_invalidate(PluginState *state, uint32 hash);
extern void types_invalidate_functions(PluginState *state);

#endif							/* PGOUTPUT_EXT_TYPE_H */
