/*-------------------------------------------------------------------------
 *
 * publication.h
 *	  What the named publications say of a relation.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PGOUTPUT_EXT_PUBLICATION_H
#define PGOUTPUT_EXT_PUBLICATION_H

#include "plugin.h"
#include "values/columns.h"

/*
 * What the publications say of one relation: the actions that any of them
 * publishes, the relation that its changes are published as (itself or an
 * ancestor), and the publications that decide on rows and columns.
 */
typedef struct PublishedAs
{
	PublicationActions actions;
	Oid			relid;
	List	   *publications;	/* of Publication * */
	Oid			announced;		/* as option partition_root has it */
} PublishedAs;

extern void publications_load(PluginState *state);
extern void publications_of_relation(PluginState *state, Relation relation,
									 PublishedAs *result);
#ifdef HAVE_PUBLICATION_DETAILS
extern void publications_keep_open(PluginState *state,
								   const PublishedAs *published,
								   Relation published_as,
								   bool unfiltered_all);
#endif
extern void publications_columns(const PublishedAs *published,
								 Relation relation, GeneratedColumns policy,
								 ColumnSet *columns);
extern bool publication_has_schema(Publication *publication, Oid schema_id);

#endif							/* PGOUTPUT_EXT_PUBLICATION_H */
