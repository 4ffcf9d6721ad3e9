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

#include "invalidation.h"
#include "plan.h"
#include "type.h"

/* Sessions of this process, for the callbacks, which have none of their own. */
static dlist_head sessions = DLIST_STATIC_INIT(sessions);

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
		session_watches_names(state);
}

static void
relation_invalidated(Datum arg, Oid relid)
{
	dlist_iter	iter;

	dlist_foreach(iter, &sessions)
	{
		PluginState *state = dlist_container(PluginState, node, iter.cur);
		RelationPlan *plan;

		if (!OidIsValid(relid))
		{
			state->generation++;
			continue;
		}
		plan = plan_find(state, relid);
		if (plan == NULL)
			continue;
		plan->valid = false;
		/* the plans of a root's partitions hold some of it */
		if (plan->is_root && session_watches_roots(state))
			state->generation++;
	}
}

static void
publication_changed(Datum arg, CompatCacheId cache_id, uint32 hash)
{
	dlist_iter	iter;

	dlist_foreach(iter, &sessions)
	{
		PluginState *state = dlist_container(PluginState, node, iter.cur);

		state->publications_valid = false;
#ifndef HAVE_RELSYNC_INVALIDATION
		state->generation++;
#endif
	}
}

static void
publication_map_changed(Datum arg, CompatCacheId cache_id, uint32 hash)
{
	dlist_iter	iter;

	dlist_foreach(iter, &sessions)
	{
		PluginState *state = dlist_container(PluginState, node, iter.cur);

		if (cache_id == PUBLICATIONRELMAP)
			state->relation_map_generation++;
		else
			state->schema_map_generation++;
#ifndef HAVE_RELSYNC_INVALIDATION
		state->generation++;
#endif
	}
}

static void
namespace_changed(Datum arg, CompatCacheId cache_id, uint32 hash)
{
	dlist_iter	iter;

	dlist_foreach(iter, &sessions)
	{
		PluginState *state = dlist_container(PluginState, node, iter.cur);

#ifndef HAVE_NAMESPACE_FLUSH
		if (!session_watches_names(state))
			continue;
#endif
		state->generation++;
	}
}

static void
type_changed(Datum arg, CompatCacheId cache_id, uint32 hash)
{
	dlist_iter	iter;

	dlist_foreach(iter, &sessions)
		types_invalidate(dlist_container(PluginState, node, iter.cur), hash);
}

static void
function_changed(Datum arg, CompatCacheId cache_id, uint32 hash)
{
	dlist_iter	iter;

	dlist_foreach(iter, &sessions)
		types_invalidate_functions(dlist_container(PluginState, node, iter.cur));
}

/* Callbacks cannot be taken back: they are registered once per process. */
static void
register_callbacks(void)
{
	static bool registered = false;

	if (registered)
		return;
	registered = true;

	CacheRegisterRelcacheCallback(relation_invalidated, (Datum) 0);
	CacheRegisterSyscacheCallback(PUBLICATIONOID, publication_changed,
								  (Datum) 0);
#ifdef HAVE_RELSYNC_INVALIDATION
	CacheRegisterRelSyncCallback(relation_invalidated, (Datum) 0);
#endif
	CacheRegisterSyscacheCallback(PUBLICATIONRELMAP, publication_map_changed,
								  (Datum) 0);
#ifdef HAVE_PUBLICATION_DETAILS
	CacheRegisterSyscacheCallback(PUBLICATIONNAMESPACEMAP,
								  publication_map_changed, (Datum) 0);
#endif
	CacheRegisterSyscacheCallback(NAMESPACEOID, namespace_changed, (Datum) 0);
	CacheRegisterSyscacheCallback(TYPEOID, type_changed, (Datum) 0);
	CacheRegisterSyscacheCallback(PROCOID, function_changed, (Datum) 0);
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

	register_callbacks();
}
