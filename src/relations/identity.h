/*-------------------------------------------------------------------------
 *
 * identity.h
 *	  The key by which a client finds the rows of a relation.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PGOUTPUT_EXT_IDENTITY_H
#define PGOUTPUT_EXT_IDENTITY_H

#include "relations/plan.h"

extern bool identity_is_usable(RelationPlan *plan, Relation relation,
							   Relation target);
extern void identity_require(PluginState *state, RelationPlan *plan,
							 Relation relation, Relation target,
							 const char *command);
extern Bitmapset *identity_key_columns(PluginState *state, RelationPlan *plan,
									   Relation relation, Relation target);

#endif							/* PGOUTPUT_EXT_IDENTITY_H */
