/*-------------------------------------------------------------------------
 *
 * type.h
 *	  Column encoders, shared by type.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PGOUTPUT_EXT_TYPE_H
#define PGOUTPUT_EXT_TYPE_H

#include "encoder.h"
#include "plugin.h"

/*
 * A type's encoder and how long it may be used.  The encoder of a type whose
 * output depends on other types (arrays, composites, ranges) or on functions
 * that can be replaced is good for one generation of all types only.
 */
typedef struct TypeEntry
{
	TypeEncoder encoder;		/* must be first: starts with the hash key */
	bool		valid;
	bool		dependent;
	uint64		generation;
	MemoryContext context;		/* of what the function remembers, if any */
	struct TypeEntry *next;		/* with the same hash value */
} TypeEntry;

extern void types_init(PluginState *state);
extern TypeEntry *type_entry(PluginState *state, Oid type_id);
extern void type_resolve(PluginState *state, TypeEntry *entry);
extern void types_invalidate(PluginState *state, uint32 hash);
extern void types_invalidate_functions(PluginState *state);

/* Makes sure that the entry's encoder is that of the type as it is now. */
static inline void
type_check(PluginState *state, TypeEntry *entry)
{
	if (unlikely(!entry->valid ||
				 (entry->dependent &&
				  entry->generation != state->type_generation)))
		type_resolve(state, entry);
}

#endif							/* PGOUTPUT_EXT_TYPE_H */
