/*-------------------------------------------------------------------------
 *
 * plugin_options.h
 *	  What a client can ask for.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PGOUTPUT_EXT_PLUGIN_OPTIONS_H
#define PGOUTPUT_EXT_PLUGIN_OPTIONS_H

#include "nodes/pg_list.h"

typedef enum StreamingMode
{
	STREAMING_OFF,
	STREAMING_ON,
	STREAMING_PARALLEL,
} StreamingMode;

typedef enum UnchangedToast
{
	UNCHANGED_TOAST_MARKER,
	UNCHANGED_TOAST_FILL,
	UNCHANGED_TOAST_ERROR,
} UnchangedToast;

typedef enum MissingPublication
{
	MISSING_PUBLICATION_SERVER,
	MISSING_PUBLICATION_ERROR,
	MISSING_PUBLICATION_WARN,
	MISSING_PUBLICATION_SKIP,
} MissingPublication;

typedef enum MissingIdentity
{
	MISSING_IDENTITY_SKIP,
	MISSING_IDENTITY_WARN,
	MISSING_IDENTITY_ERROR,
} MissingIdentity;

typedef enum GeneratedColumns
{
	GENERATED_COLUMNS_PUBLICATION,
	GENERATED_COLUMNS_STORED,
	GENERATED_COLUMNS_NONE,
} GeneratedColumns;

typedef enum PartitionRoot
{
	PARTITION_ROOT_PUBLICATION,
	PARTITION_ROOT_ALWAYS,
	PARTITION_ROOT_NEVER,
} PartitionRoot;

typedef enum InheritanceRoot
{
	INHERITANCE_ROOT_NEVER,
	INHERITANCE_ROOT_ALWAYS,
} InheritanceRoot;

typedef enum EmptyTransactions
{
	EMPTY_TRANSACTIONS_SERVER,
	EMPTY_TRANSACTIONS_SKIP,
	EMPTY_TRANSACTIONS_SEND,
} EmptyTransactions;

typedef enum ValueFormat
{
	VALUE_FORMAT_SESSION,
	VALUE_FORMAT_CANONICAL,
} ValueFormat;

/*
 * What the client asked for; the members are described by the option table in
 * options.c.  Enumerations are ints so that the table can point at them.
 */
typedef struct PluginOptions
{
	/* pgoutput's own */
	uint32		proto_version;
	List	   *publication_names;	/* of char * */
	bool		binary;
	bool		messages;
	int			streaming;		/* StreamingMode */
	bool		two_phase;
	bool		origin_none;

	/* policies */
	int			unchanged_toast;
	int			missing_publication;
	int			missing_identity;
	int			generated_columns;
	int			partition_root;
	int			inheritance_root;
	List	   *include_tables; /* name patterns, see pattern.h */
	List	   *exclude_tables;
	List	   *exclude_columns;
	List	   *message_prefixes;
	List	   *exclude_message_prefixes;
	List	   *include_origins;	/* of char * */
	List	   *exclude_origins;
	int			empty_transactions;
	uint64		progress_interval;	/* in bytes of WAL; 0: off */
	bool		split_key_updates;
	int			value_format;
	int			log_statistics; /* in ms; below 0: off */

	/* metadata */
	bool		relation_metadata;
	bool		type_metadata;
	bool		transaction_metadata;
	bool		publication_metadata;

	/* internal */
	bool		coalesce_writes;
} PluginOptions;

#endif							/* PGOUTPUT_EXT_PLUGIN_OPTIONS_H */
