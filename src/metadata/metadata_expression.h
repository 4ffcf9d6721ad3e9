/*-------------------------------------------------------------------------
 *
 * metadata_expression.h
 *	  Default and generation expressions as SQL text.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PGOUTPUT_EXT_METADATA_EXPRESSION_H
#define PGOUTPUT_EXT_METADATA_EXPRESSION_H

#include "utils/rel.h"

extern char *metadata_column_expression(Relation relation, AttrNumber attnum);

#endif							/* PGOUTPUT_EXT_METADATA_EXPRESSION_H */
