/*-------------------------------------------------------------------------
 *
 * plugin.h
 *	  The state of a decoding session.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PGOUTPUT_EXT_PLUGIN_H
#define PGOUTPUT_EXT_PLUGIN_H

#include "lib/ilist.h"
#include "replication/logical.h"
#include "utils/hsearch.h"

#include "compat.h"
#include "options/plugin_options.h"

struct KnownRelation;
struct TransactionState;

/*
 * What ctx->output_plugin_private points to.  It and all that hangs on it
 * lives in the decoding context and goes with it.
 */
typedef struct PluginState
{
	PluginOptions options;
	struct Writer *writer;		/* NULL unless it coalesces, see writer.c */

	MemoryContext context;		/* of the session: options, relations, types */
	MemoryContext change_context;	/* reset after each change */

	bool		in_streaming;	/* between Stream Start and Stream Stop */
	int			changes;		/* since the last progress report */

	/* publication.c */
	MemoryContext publication_context;
	List	   *publications;	/* of Publication *, those that exist */
	uint64		publications_read;	/* publication_list_changes as it was then */
	List	   *warned_publications;	/* names, for missing_publication */
	struct oid_table_hash *listed_relations;	/* see notice_abort_by_list() */
	struct oid_table_hash *listed_schemas;
	uint64		relation_map_generation;	/* counts changes of the catalogs */
	uint64		schema_map_generation;

	/* relation_table.c */
	HTAB	   *relations;		/* KnownRelations by OID */
	uint64		told_versions;	/* ToldRelation's so far */

	/* plan.c */
	struct KnownRelation *last_relation;
	dlist_head	tuple_plans;	/* RelationPlans that have one, newest first */
	int			tuple_plan_count;

	/* invalidation.c */
	uint64		generation;		/* plans of an older one are stale */
	uint64		publication_list_changes;	/* counts changes of
											 * pg_publication */
	uint64		publication_changes;	/* ... of anything about publications */
	uint64		type_changes;	/* ... of what type_metadata shows */
	dlist_node	node;			/* in the list of live sessions */

	/* type.c */
	bool		convert;		/* text is converted for the client */
	HTAB	   *types;			/* TypeEntry by hash value of pg_type's cache */
	uint64		type_generation;	/* counts changes of any type or function */

	/* transaction.c, told.c */
	bool		prepared_streams_tell;	/* see quirks.h */
	uint64		stream_count;	/* streamed transactions so far */
	XLogRecPtr	sent_up_to;		/* end of the last transaction that was sent */
	struct TransactionState *spare_transaction; /* of one that has ended */

	struct Statistics *statistics;	/* NULL unless they are logged */
	uint64		plans_built;	/* for them */
	uint64		invalidations;

	struct Metadata *metadata;	/* NULL unless the client asked for any */

	/* tuple.c: the old and the new tuple, and their columns */
	HeapTuple	tuples[2];
	TupleDesc	tuples_desc;
	int			max_columns;
	Datum	   *values[2];
	bool	   *nulls[2];
} PluginState;

static inline PluginState *
plugin_state(LogicalDecodingContext *ctx)
{
	return (PluginState *) ctx->output_plugin_private;
}

#endif							/* PGOUTPUT_EXT_PLUGIN_H */
