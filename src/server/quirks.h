/*-------------------------------------------------------------------------
 *
 * quirks.h
 *	  What is done only because the server's pgoutput does it: its bytes in its
 *	  odd moments.
 *
 * Each follows a function of the server's pgoutput.c, on the versions that are
 * named.  The test that is named compares with the server's own pgoutput and
 * fails when the server has changed its mind; so does scripts/differential.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PGOUTPUT_EXT_QUIRKS_H
#define PGOUTPUT_EXT_QUIRKS_H

#include "nodes/bitmapset.h"
#include "utils/rel.h"

#include "plugin.h"

/*
 * Where an abort is noticed (get_rel_sync_entry(), all versions; t/025).
 *
 * The server ends the changes of a streamed or prepared transaction that has
 * aborted meanwhile at the first catalog scan.  pgoutput lists the publications
 * of relations and schemas, which scans a catalog unless the cache has the list,
 * and the cache drops all lists of a catalog with each change of it.  Here
 * publications are asked for by key, so it is remembered which lists pgoutput
 * would have, and for those that it would not, the server's check is made in
 * its place.
 */
extern bool quirk_aborts_matter(PluginState *state);
extern void quirk_notice_abort_by_relation(PluginState *state, Oid relid);
extern void quirk_notice_abort_by_schema(PluginState *state, Oid schema_id);

/*
 * A relation that stays open (pgoutput_row_filter_init() and
 * pgoutput_column_list_init(), 15 and newer; t/024).
 *
 * pgoutput opens the relation that changes are published as when it looks for
 * row filters and column lists, and leaves it open: if an action is not
 * published at all or only with row filters, or there is a column list; from 18
 * on always.  An invalidation of an open relation reads its catalogs again at
 * once, and may notice an abort there.
 */
#ifdef HAVE_PUBLISHED_GENERATED_COLUMNS
#define QUIRK_ALWAYS_KEEPS_OPEN true
#else
#define QUIRK_ALWAYS_KEEPS_OPEN false
#endif
extern void quirk_keep_open(Relation relation);

/*
 * Column lists that count as none (pgoutput_column_list_init(), 15 to 17;
 * t/022): those of all columns, as many as the relation has.  15 counts dropped
 * and generated columns, too, so that a list of all that are left of a relation
 * with a dropped column counts.
 */
extern bool quirk_list_counts_as_none(Relation relation, int length);

/*
 * A root's column numbers beside a partition (send_relation_and_attrs(), 15 and
 * newer; t/023).  The Relation of a partition that is announced beside its root
 * has the columns of those numbers, also where its own have other ones.
 */
static inline Bitmapset *
quirk_columns_beside_root(Bitmapset *root_columns)
{
	return root_columns;
}

/*
 * 14 keeps what it has found out of a publication while the relation changes,
 * and what it has announced while publications change
 * (rel_sync_cache_relation_cb() and rel_sync_cache_publication_cb(); t/022):
 * SERVER_ASKS_AGAIN_WITH_RELATION and SERVER_FORGETS_WITH_PUBLICATIONS in
 * compat.h.
 * What is not followed: it maps the columns of a partition to those of its root
 * only when it announces both, and without that takes the one for the other.
 *
 * 14 has null for the columns that were added with a value after an old row was
 * written, if the row is a partition's and sent as its root's (pgoutput_change();
 * t/023): SERVER_LOSES_ADDED_COLUMNS_BY_ROOT.
 *
 * 14 tells the client of the relation of a DELETE that it cannot send for want of
 * an old tuple (pgoutput_change(); t/023): SERVER_TELLS_BEFORE_UNSENT_DELETE.
 *
 * What a stream was told that ends in Stream Prepare counts as told in the minor
 * releases of November 2026 but for 18.6, and in 19; it did not before, nor in
 * the development version of 20 of August 2026
 * (pgoutput_stream_prepare_txn(); t/024): compat_prepared_stream_tells().
 */

#endif							/* PGOUTPUT_EXT_QUIRKS_H */
