/*-------------------------------------------------------------------------
 *
 * setting.h
 *	  The setting pgoutput_ext.options.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PGOUTPUT_EXT_SETTING_H
#define PGOUTPUT_EXT_SETTING_H

#include "nodes/pg_list.h"

#define SETTING_NAME "pgoutput_ext.options"

extern void setting_define(void);
extern List *setting_options(void);

#endif							/* PGOUTPUT_EXT_SETTING_H */
