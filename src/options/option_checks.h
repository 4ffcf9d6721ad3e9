/*-------------------------------------------------------------------------
 *
 * option_checks.h
 *	  Checks of options against each other, and against the protocol.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PGOUTPUT_EXT_OPTION_CHECKS_H
#define PGOUTPUT_EXT_OPTION_CHECKS_H

#include "replication/logical.h"

#include "options/plugin_options.h"

extern void options_check_tables(const PluginOptions *options);
extern void options_check_origins(const PluginOptions *options);
extern void options_check_prefixes(const PluginOptions *options);
extern void options_check_protocol(LogicalDecodingContext *ctx,
								   PluginOptions *options);

#endif							/* PGOUTPUT_EXT_OPTION_CHECKS_H */
