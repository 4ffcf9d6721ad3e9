/*-------------------------------------------------------------------------
 *
 * oid_table.h
 *	  Small tables of what is known of objects, by OID.
 *
 * An instance of the server's simplehash: a table starts with a few hundred
 * bytes, where dynahash takes 8 kB, and there may be one per open transaction.
 * Pointers into a table do not outlast the next insertion.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PGOUTPUT_EXT_OID_TABLE_H
#define PGOUTPUT_EXT_OID_TABLE_H

#include "common/hashfn.h"

typedef struct OidTableEntry
{
	Oid			oid;			/* hash key */
	char		status;			/* of the table */
	uint64		number;			/* a generation or build, as the user says */
	void	   *object;
} OidTableEntry;

#define SH_PREFIX oid_table
#define SH_ELEMENT_TYPE OidTableEntry
#define SH_KEY_TYPE Oid
#define SH_KEY oid
#define SH_HASH_KEY(table, key) murmurhash32(key)
#define SH_EQUAL(table, a, b) ((a) == (b))
#define SH_SCOPE static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

/* How many entries a new table has room for. */
#define OID_TABLE_START 8

#endif							/* PGOUTPUT_EXT_OID_TABLE_H */
