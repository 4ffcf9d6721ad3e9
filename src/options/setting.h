/*-------------------------------------------------------------------------
 *
 * setting.h
 *	  The settings pgoutput_ext.options and pgoutput_ext.max_tuple_plans.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PGOUTPUT_EXT_SETTING_H
#define PGOUTPUT_EXT_SETTING_H

#include "nodes/pg_list.h"

#define SETTING_NAME "pgoutput_ext.options"

extern int	setting_max_tuple_plans;

extern void setting_define(void);
extern List *setting_options(void);

#endif							/* PGOUTPUT_EXT_SETTING_H */
