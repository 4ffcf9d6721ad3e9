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

extern void options_parse(List *defelems, List *setting,
						  PluginOptions *options);
extern char *options_text(List *defelems, List *setting);

#endif							/* PGOUTPUT_EXT_OPTIONS_H */
