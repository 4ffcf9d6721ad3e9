/*-------------------------------------------------------------------------
 *
 * relation_table.c
 *	  The relations that a session knows.
 *
 * Asked by plan.c for each relation whose plan is not at hand, and by
 * invalidation.c, which marks entries at any time and in any memory context.
 * The table lives in the session's context.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "relations/relation_table.h"

/*
 * relations_init
 *		Makes a session's table, in the session's context.
 */
void
relations_init(PluginState *state)
{
	HASHCTL		ctl;

	ctl.keysize = sizeof(Oid);
	ctl.entrysize = sizeof(KnownRelation);
	ctl.hcxt = state->context;
	state->relations = hash_create("pgoutput_ext relations", 128, &ctl,
								   HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
}

/* What the session knows of a relation; NULL if that is nothing. */
KnownRelation *
relation_find(PluginState *state, Oid relid)
{
	return hash_search(state->relations, &relid, HASH_FIND, NULL);
}

/* The same, with a new entry where there is none. */
KnownRelation *
relation_find_or_make(PluginState *state, Oid relid)
{
	bool		found;
	KnownRelation *known = hash_search(state->relations, &relid, HASH_ENTER,
									   &found);

	if (!found)
	{
		memset(known, 0, sizeof(KnownRelation));
		known->relid = relid;
	}
	return known;
}

/*
 * told_forget
 *		What the client was told of a relation holds no longer, in no stream
 *		either.
 */
void
told_forget(PluginState *state, ToldRelation *told)
{
	told->told = false;
	told->stream = 0;
	told->version = ++state->told_versions;
}
