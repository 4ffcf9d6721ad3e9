/*-------------------------------------------------------------------------
 *
 * relation_table.h
 *	  The relations that a session knows: what the client was told of each,
 *	  whether it changed, and its plan.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PGOUTPUT_EXT_RELATION_TABLE_H
#define PGOUTPUT_EXT_RELATION_TABLE_H

#include "plugin.h"

/*
 * What the client was told of a relation.  It stays while the session lasts,
 * whatever becomes of the plan, until told_forget().
 */
typedef struct ToldRelation
{
	bool		told;			/* outside of streams */
	uint64		stream;			/* stream that was told last, 0 if none */
	uint64		version;		/* another one each time that it is forgotten */
	uint64		types_checked;	/* for the metadata: when, see metadata_type.c */
	uint64		types_stream;	/* ... and for which stream, 0 if none */
} ToldRelation;

/* An entry of the table.  It does not move. */
typedef struct KnownRelation
{
	Oid			relid;			/* hash key */
	bool		is_root;		/* others are announced as it, or as its root */
	uint64		changes;		/* counts its invalidations */
	ToldRelation told;
	struct RelationPlan *plan;	/* NULL until it is built first */
} KnownRelation;

extern void relations_init(PluginState *state);
extern KnownRelation *relation_find(PluginState *state, Oid relid);
extern KnownRelation *relation_find_or_make(PluginState *state, Oid relid);
extern void told_forget(PluginState *state, ToldRelation *told);

#endif							/* PGOUTPUT_EXT_RELATION_TABLE_H */
