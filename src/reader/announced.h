/*-------------------------------------------------------------------------
 *
 * announced.h
 *	  What a stream has said so far about relations and types.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PGOUTPUT_EXT_ANNOUNCED_H
#define PGOUTPUT_EXT_ANNOUNCED_H

#include "utils/hsearch.h"

#include "reader/json_build.h"
#include "reader/parser.h"

/* As one Type message announced it. */
typedef struct AnnouncedType
{
	Oid			oid;			/* hash key */
	char	   *name;			/* qualified and quoted where it must be */
	JsonKind	kind;
} AnnouncedType;

typedef struct AnnouncedColumn
{
	JsonbValue	name;
	bool		is_key;
	JsonKind	kind;
} AnnouncedColumn;

typedef struct AnnouncedRelation
{
	char	   *name;			/* qualified and quoted where it must be */
	int			ncolumns;
	AnnouncedColumn *columns;	/* as announced */
	int		   *order;			/* of the columns in a jsonb object */
	MemoryContext context;		/* of all the above */
} AnnouncedRelation;

/* Where a stream of messages stands. */
typedef struct StreamState
{
	bool		in_stream;		/* between Stream Start and Stream Stop */
	TransactionId xid;			/* of that stream */
	MemoryContext context;
	HTAB	   *types;
	HTAB	   *relations;
	HTAB	   *transactions;	/* streamed, not ended */
} StreamState;

/* A state at the start of a stream, in a child of CurrentMemoryContext. */
extern StreamState *stream_state_create(bool in_stream);

/*
 * Takes note of what a message says for those after it.  Call it with every
 * message, before describing it.  ERROR 22P03 if it cannot stand here.
 */
extern void stream_state_note(StreamState *state, const WireMessage *message);

/* The relation as announced; ERROR 22P03 if it was not. */
extern AnnouncedRelation *announced_relation(StreamState *state, Oid oid);

/* The type as announced, or NULL: built-in types are not. */
extern AnnouncedType *announced_type(StreamState *state, Oid oid);

#endif							/* PGOUTPUT_EXT_ANNOUNCED_H */
