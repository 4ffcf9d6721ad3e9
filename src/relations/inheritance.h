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

extern Oid	inheritance_root(PluginState *state, Oid relid);

#endif							/* PGOUTPUT_EXT_INHERITANCE_H */
