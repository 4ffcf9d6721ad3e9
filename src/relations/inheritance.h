/*-------------------------------------------------------------------------
 *
 * inheritance.h
 *	  The topmost parent of a child that INHERITS made.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PGOUTPUT_EXT_INHERITANCE_H
#define PGOUTPUT_EXT_INHERITANCE_H

#include "plugin.h"
#include "utils/rel.h"

extern Oid	inheritance_root(PluginState *state, Relation relation);

#endif							/* PGOUTPUT_EXT_INHERITANCE_H */
