/*-------------------------------------------------------------------------
 *
 * options.h
 *	  Reads the options of a decoding session.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PGOUTPUT_EXT_OPTIONS_H
#define PGOUTPUT_EXT_OPTIONS_H

#include "options/plugin_options.h"

extern void options_parse(List *defelems, PluginOptions *options);

#endif							/* PGOUTPUT_EXT_OPTIONS_H */
