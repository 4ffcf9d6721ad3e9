/*-------------------------------------------------------------------------
 *
 * invalidation.h
 *	  What a session makes of invalidations of the server's caches.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PGOUTPUT_EXT_INVALIDATION_H
#define PGOUTPUT_EXT_INVALIDATION_H

#include "plugin.h"

extern bool session_watches_names(PluginState *state);
extern void invalidation_subscribe(PluginState *state);

#endif							/* PGOUTPUT_EXT_INVALIDATION_H */
