/*-------------------------------------------------------------------------
 *
 * invalidation.c
 *	  What a session makes of invalidations of the server's caches.
 *
 * The server calls back at any time, also while a plan is built, and in any
 * memory context: nothing is allocated or looked up in catalogs here, only
 * marked.  Callbacks cannot be taken back.  They are registered once per
 * process and go through the sessions that live at the time.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

#include "relations/invalidation.h"
#include "relations/relation_table.h"
#include "values/type.h"

/* Sessions of this process, for the callbacks, which have none of their own. */
static dlist_head sessions = DLIST_STATIC_INIT(sessions);

/* The server's catalog caches whose invalidations matter. */
static const CompatCacheId watched_caches[] = {
	PUBLICATIONOID,
	PUBLICATIONRELMAP,
#ifdef HAVE_PUBLICATION_DETAILS
	PUBLICATIONNAMESPACEMAP,
#endif
	NAMESPACEOID,
	TYPEOID,
	PROCOID,
};

/* More of them, for what option type_metadata shows. */
static const CompatCacheId watched_for_types[] = {
	ENUMOID,
	ATTNUM,
};

/* Does the session look at relation names, which are not the plan's own? */
bool
session_watches_names(PluginState *state)
{
	return state->options.include_tables || state->options.exclude_tables ||
		state->options.exclude_columns ||
		state->options.partition_root != PARTITION_ROOT_PUBLICATION;
}

/*
 * Do plans hold more of the relation announced than its name and columns, or
 * depend on names?
 */
static bool
session_watches_roots(PluginState *state)
{
	return state->options.split_key_updates ||
		state->options.missing_identity != MISSING_IDENTITY_SKIP ||
		state->options.inheritance_root != INHERITANCE_ROOT_NEVER ||
		session_watches_names(state);
}

static void
relation_invalidated(Datum arg, Oid relid)
{
	dlist_iter	iter;

	dlist_foreach(iter, &sessions)
	{
		PluginState *state = dlist_container(PluginState, node, iter.cur);
		KnownRelation *known;

		state->invalidations++;
		if (!OidIsValid(relid))
		{
			state->generation++;
			continue;
		}
		known = relation_find(state, relid);
		if (known == NULL)
			continue;
		known->changes++;
		if (!SERVER_FORGETS_WITH_PUBLICATIONS)
			told_forget(state, &known->told);
		/* the plans of a root's partitions hold some of it */
		if (known->is_root && session_watches_roots(state))
			state->generation++;
	}
}

/* What an invalidation of one of the server's catalog caches means to a session. */
static void
session_cache_invalidated(PluginState *state, CompatCacheId cache_id,
						  uint32 hash)
{
#ifdef HAVE_RELSYNC_INVALIDATION
	const bool	plans_depend_on_publications = false;
#else
	const bool	plans_depend_on_publications = true;
#endif
#ifdef HAVE_NAMESPACE_FLUSH
	const bool	plans_depend_on_schemas = true;
#else
	const bool	plans_depend_on_schemas = session_watches_names(state);
#endif

	state->invalidations++;
	switch (cache_id)
	{
		case PUBLICATIONOID:
			state->publication_list_changes++;
			state->publication_changes++;
			state->generation += plans_depend_on_publications;
			break;
		case PUBLICATIONRELMAP:
			state->relation_map_generation++;
			state->publication_changes++;
			state->generation += plans_depend_on_publications;
			break;
#ifdef HAVE_PUBLICATION_DETAILS
		case PUBLICATIONNAMESPACEMAP:
			state->schema_map_generation++;
			state->publication_changes++;
			state->generation += plans_depend_on_publications;
			break;
#endif
		case NAMESPACEOID:
			state->type_changes++;
			state->generation += plans_depend_on_schemas;
			break;
		case TYPEOID:
			state->type_changes++;
			types_invalidate(state, hash);
			break;
		case ENUMOID:
		case ATTNUM:
			state->type_changes++;
			break;
		case PROCOID:
			types_invalidate_functions(state);
			break;
		default:
			break;
	}
}

static void
cache_invalidated(Datum arg, CompatCacheId cache_id, uint32 hash)
{
	dlist_iter	iter;

	dlist_foreach(iter, &sessions)
		session_cache_invalidated(dlist_container(PluginState, node, iter.cur),
								  cache_id, hash);
}

static void
register_for_caches(const CompatCacheId *caches, int count)
{
	for (int i = 0; i < count; i++)
		CacheRegisterSyscacheCallback(caches[i], cache_invalidated, (Datum) 0);
}

/* Callbacks cannot be taken back: they are registered once per process. */
static void
register_callbacks(PluginState *state)
{
	static bool registered = false;
	static bool registered_for_types = false;

	if (!registered)
	{
		registered = true;
		CacheRegisterRelcacheCallback(relation_invalidated, (Datum) 0);
#ifdef HAVE_RELSYNC_INVALIDATION
		CacheRegisterRelSyncCallback(relation_invalidated, (Datum) 0);
#endif
		register_for_caches(watched_caches, lengthof(watched_caches));
	}
	if (!registered_for_types && state->options.type_metadata)
	{
		registered_for_types = true;
		register_for_caches(watched_for_types, lengthof(watched_for_types));
	}
}

/* Takes a session off the list when its memory goes, however that comes. */
static void
forget_session(void *arg)
{
	PluginState *state = arg;

	dlist_delete(&state->node);
}

/*
 * invalidation_subscribe
 *		Has a session hear of invalidations until its context is reset.
 *
 * Its tables of relations and types are there already.
 */
void
invalidation_subscribe(PluginState *state)
{
	MemoryContextCallback *callback;

	callback = MemoryContextAlloc(state->context, sizeof(*callback));
	callback->func = forget_session;
	callback->arg = state;
	dlist_push_head(&sessions, &state->node);
	MemoryContextRegisterResetCallback(state->context, callback);

	/* 0 stands for "never looked" */
	state->publication_list_changes = 1;
	state->publication_changes = 1;
	state->type_changes = 1;
	register_callbacks(state);
}
