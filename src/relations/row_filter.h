/*-------------------------------------------------------------------------
 *
 * row_filter.h
 *	  Row filters of publications.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PGOUTPUT_EXT_ROW_FILTER_H
#define PGOUTPUT_EXT_ROW_FILTER_H

#include "relations/publication.h"
#include "values/tuple.h"

typedef struct RowFilter RowFilter;

extern RowFilter *row_filter_build(PluginState *state,
								   const PublishedAs *published,
								   Relation relation, Relation published_as);
extern void row_filter_free(RowFilter *filter);
extern bool row_filter_check(PluginState *state, RowFilter *filter,
							 const TuplePlan *plan, bool has_old,
							 bool has_new, ReorderBufferChangeType *action);

#endif							/* PGOUTPUT_EXT_ROW_FILTER_H */
