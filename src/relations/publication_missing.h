/*-------------------------------------------------------------------------
 *
 * publication_missing.h
 *	  What becomes of a named publication that does not exist as of the change.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PGOUTPUT_EXT_PUBLICATION_MISSING_H
#define PGOUTPUT_EXT_PUBLICATION_MISSING_H

#include "plugin.h"

extern void publication_report_missing(PluginState *state, const char *name);

#endif							/* PGOUTPUT_EXT_PUBLICATION_MISSING_H */
