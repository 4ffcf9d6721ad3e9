/*-------------------------------------------------------------------------
 *
 * options.c
 *	  The options of START_REPLICATION and of the slot functions.
 *
 * One table drives parsing, checks and error texts, and is what SQL sees as
 * pgoutput_ext_options().  Called by the startup callback, once per session,
 * in the decoding context's memory context, where lists stay.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "commands/defrem.h"
#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/varlena.h"

#include "compat.h"
#ifdef HAVE_PARALLEL_STREAMING
#include "catalog/pg_subscription.h"
#include "commands/subscriptioncmds.h"
#endif
#include "options.h"
#include "pattern.h"

typedef enum OptionKind
{
	OPTION_PROTO_VERSION,
	OPTION_PUBLICATION_NAMES,
	OPTION_STREAMING,
	OPTION_ORIGIN,
	OPTION_BOOL,
	OPTION_ENUM,
	OPTION_TABLES,
	OPTION_COLUMNS,
	OPTION_PREFIXES,
	OPTION_ORIGINS,
} OptionKind;

/* Whose option it is: decides where it is shown, not what it does. */
typedef enum OptionGroup
{
	GROUP_PGOUTPUT,
	GROUP_POLICY,
	GROUP_METADATA,
	GROUP_INTERNAL,				/* for comparisons, not shown */
} OptionGroup;

typedef struct OptionDef
{
	const char *name;
	OptionGroup group;
	OptionKind	kind;
	size_t		offset;			/* of the member of PluginOptions */
	const char *values;			/* of an enumeration: in order, ", " between */
	const char *value;			/* default, as shown */
	const char *description;
} OptionDef;

#define MEMBER(name) offsetof(PluginOptions, name)

static const OptionDef option_table[] =
{
	{"proto_version", GROUP_PGOUTPUT, OPTION_PROTO_VERSION,
		MEMBER(proto_version), NULL, NULL,
	"Protocol version, 1 to what the server has; required."},
	{"publication_names", GROUP_PGOUTPUT, OPTION_PUBLICATION_NAMES,
		MEMBER(publication_names), NULL, NULL,
	"Publications whose changes are sent; required."},
	{"binary", GROUP_PGOUTPUT, OPTION_BOOL, MEMBER(binary), NULL, "off",
	"Send column values in binary where the type can."},
	{"messages", GROUP_PGOUTPUT, OPTION_BOOL, MEMBER(messages), NULL, "off",
	"Send what pg_logical_emit_message wrote."},
	{"streaming", GROUP_PGOUTPUT, OPTION_STREAMING, MEMBER(streaming),
		"off, on, parallel", "off",
	"Send large transactions before they end."},
#ifdef HAVE_TWO_PHASE_OPTION
	{"two_phase", GROUP_PGOUTPUT, OPTION_BOOL, MEMBER(two_phase), NULL, "off",
	"Send prepared transactions when they are prepared."},
#endif
	{"origin", GROUP_PGOUTPUT, OPTION_ORIGIN, MEMBER(origin_none),
		"any, none", "any",
	"Send all changes, or only those without a replication origin."},

	{"unchanged_toast", GROUP_POLICY, OPTION_ENUM, MEMBER(unchanged_toast),
		"marker, fill, error", "marker",
	"What to send for an unchanged out-of-line value of an UPDATE."},
	{"missing_publication", GROUP_POLICY, OPTION_ENUM,
		MEMBER(missing_publication), "server, error, warn, skip", "server",
	"What to do about a publication that does not exist as of the change."},
	{"missing_identity", GROUP_POLICY, OPTION_ENUM, MEMBER(missing_identity),
		"skip, warn, error", "skip",
	"What to do about an UPDATE or DELETE without a usable key."},
	{"generated_columns", GROUP_POLICY, OPTION_ENUM, MEMBER(generated_columns),
		"publication, stored, none", "publication",
	"Whether stored generated columns are sent."},
	{"partition_root", GROUP_POLICY, OPTION_ENUM, MEMBER(partition_root),
		"publication, always, never", "publication",
	"Under which relation a partition's changes are announced."},
	{"include_tables", GROUP_POLICY, OPTION_TABLES, MEMBER(include_tables),
		NULL, NULL, "Send only changes of the tables that match."},
	{"exclude_tables", GROUP_POLICY, OPTION_TABLES, MEMBER(exclude_tables),
		NULL, NULL, "Do not send changes of the tables that match."},
	{"exclude_columns", GROUP_POLICY, OPTION_COLUMNS, MEMBER(exclude_columns),
		NULL, NULL, "Leave out the columns that match."},
	{"message_prefixes", GROUP_POLICY, OPTION_PREFIXES,
		MEMBER(message_prefixes), NULL, NULL,
	"Send only messages whose prefix matches."},
	{"exclude_message_prefixes", GROUP_POLICY, OPTION_PREFIXES,
		MEMBER(exclude_message_prefixes), NULL, NULL,
	"Do not send messages whose prefix matches."},
	{"include_origins", GROUP_POLICY, OPTION_ORIGINS, MEMBER(include_origins),
		NULL, NULL, "Send only changes of the origins named."},
	{"exclude_origins", GROUP_POLICY, OPTION_ORIGINS, MEMBER(exclude_origins),
		NULL, NULL, "Do not send changes of the origins named."},
	{"empty_transactions", GROUP_POLICY, OPTION_ENUM,
		MEMBER(empty_transactions), "server, skip, send", "server",
	"Whether transactions with nothing to send are sent."},
	{"split_key_updates", GROUP_POLICY, OPTION_BOOL, MEMBER(split_key_updates),
		NULL, "off", "Send an UPDATE of the key as Delete and Insert."},
	{"value_format", GROUP_POLICY, OPTION_ENUM, MEMBER(value_format),
		"session, canonical", "session",
	"Whether text values follow the session's settings."},

	{"relation_metadata", GROUP_METADATA, OPTION_BOOL,
		MEMBER(relation_metadata), NULL, "off",
	"Describe each relation after its Relation message."},
	{"type_metadata", GROUP_METADATA, OPTION_BOOL, MEMBER(type_metadata),
		NULL, "off", "Describe each type after its Type message."},
	{"transaction_metadata", GROUP_METADATA, OPTION_BOOL,
		MEMBER(transaction_metadata), NULL, "off",
	"Describe each transaction after its first message."},
	{"publication_metadata", GROUP_METADATA, OPTION_BOOL,
		MEMBER(publication_metadata), NULL, "off",
	"Describe the publications, at first and when they changed."},

	{"coalesce_writes", GROUP_INTERNAL, OPTION_BOOL, MEMBER(coalesce_writes),
		NULL, "on", "Gather messages before they are given to the walsender."},
};

static const OptionDef *
find_option(const char *name)
{
	for (int i = 0; i < lengthof(option_table); i++)
	{
		if (strcmp(option_table[i].name, name) == 0)
			return &option_table[i];
	}

	/* the text and SQLSTATE of pgoutput */
	elog(ERROR, "unrecognized pgoutput option: %s", name);
	return NULL;				/* keep the compiler quiet */
}

static uint32
parse_proto_version(const char *value)
{
	unsigned long parsed;
	char	   *end;

	errno = 0;
	parsed = strtoul(value, &end, 10);
	if (errno != 0 || *end != '\0')
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid proto_version")));
	if (parsed > PG_UINT32_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("proto_version \"%s\" out of range", value)));
	return (uint32) parsed;
}

static List *
parse_publication_names(const char *value)
{
	List	   *names;

	if (!SplitIdentifierString(pstrdup(value), ',', &names))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_NAME),
				 errmsg("invalid publication_names syntax")));
	return names;
}

static StreamingMode
parse_streaming(DefElem *defel)
{
#ifdef HAVE_PARALLEL_STREAMING
	switch (defGetStreamingMode(defel))
	{
		case LOGICALREP_STREAM_PARALLEL:
			return STREAMING_PARALLEL;
		case LOGICALREP_STREAM_ON:
			return STREAMING_ON;
		default:
			return STREAMING_OFF;
	}
#else
	return defGetBoolean(defel) ? STREAMING_ON : STREAMING_OFF;
#endif
}

/* Is the origin "none"? */
static bool
parse_origin(DefElem *defel)
{
	char	   *value = defGetString(defel);

	if (pg_strcasecmp(value, "none") == 0)
		return true;
	if (pg_strcasecmp(value, "any") == 0)
		return false;
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("unrecognized origin value: \"%s\"", value)));
}

/* The position of "value" in the option's list of values. */
static int
parse_enum(const OptionDef *def, const char *value)
{
	const char *p = def->values;

	for (int i = 0;; i++)
	{
		size_t		length = strcspn(p, ",");

		if (pg_strncasecmp(p, value, length) == 0 && value[length] == '\0')
			return i;
		if (p[length] == '\0')
			break;
		p += length + 2;
	}
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("invalid value for option \"%s\": \"%s\"",
					def->name, value),
			 errhint("Valid values are: %s.", def->values)));
}

static List *
parse_list(const OptionDef *def, const char *value)
{
	List	   *list = NIL;
	bool		parsed = false;
	const char *hint = NULL;

	switch (def->kind)
	{
		case OPTION_TABLES:
			parsed = pattern_parse(value, 2, &list);
			hint = "List elements like schema.table, schema.* or *.table, separated by commas.";
			break;
		case OPTION_COLUMNS:
			parsed = pattern_parse(value, 3, &list);
			hint = "List elements like schema.table.column or *.*.column, separated by commas.";
			break;
		case OPTION_PREFIXES:
			parsed = pattern_parse_prefixes(value, &list);
			hint = "List prefixes separated by commas; a trailing * matches any rest.";
			break;
		case OPTION_ORIGINS:
			parsed = pattern_parse_names(value, &list);
			hint = "List origin names separated by commas; \"\" stands for local changes.";
			break;
		default:
			elog(ERROR, "option \"%s\" is not a list", def->name);
	}
	if (!parsed)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_NAME),
				 errmsg("invalid %s syntax", def->name),
				 errdetail("The value is: %s", value),
				 errhint("%s", hint)));
	if (list == NIL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("option \"%s\" is empty", def->name),
				 errdetail("A list needs at least one element."),
				 errhint("%s", hint)));
	return list;
}

static void
parse_option(const OptionDef *def, DefElem *defel, PluginOptions *options)
{
	void	   *member = (char *) options + def->offset;

	switch (def->kind)
	{
		case OPTION_PROTO_VERSION:
			*(uint32 *) member = parse_proto_version(defGetString(defel));
			break;
		case OPTION_PUBLICATION_NAMES:
			*(List **) member = parse_publication_names(defGetString(defel));
			break;
		case OPTION_STREAMING:
			*(int *) member = parse_streaming(defel);
			break;
		case OPTION_ORIGIN:
			*(bool *) member = parse_origin(defel);
			break;
		case OPTION_BOOL:
			*(bool *) member = defGetBoolean(defel);
			break;
		case OPTION_ENUM:
			*(int *) member = parse_enum(def, defGetString(defel));
			break;
		default:
			*(List **) member = parse_list(def, defGetString(defel));
			break;
	}
}

/* No pattern may be both asked for and excluded. */
static void
check_tables(const PluginOptions *options)
{
	ListCell   *lc;
	ListCell   *lc2;

	foreach(lc, options->include_tables)
	{
		NamePattern *included = lfirst(lc);

		foreach(lc2, options->exclude_tables)
		{
			if (pattern_equal(included, lfirst(lc2)))
				ereport(ERROR,
						(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						 errmsg("options \"include_tables\" and \"exclude_tables\" contradict each other"),
						 errdetail("Both list %s.%s.",
								   included->parts[0] ? quote_identifier(included->parts[0]) : "*",
								   included->parts[1] ? quote_identifier(included->parts[1]) : "*"),
						 errhint("Name it in one of the two.")));
		}
	}
}

static void
check_origins(const PluginOptions *options)
{
	ListCell   *lc;

	foreach(lc, options->include_origins)
	{
		char	   *name = lfirst(lc);

		if (name_list_contains(options->exclude_origins, name))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("options \"include_origins\" and \"exclude_origins\" contradict each other"),
					 errdetail("Both list \"%s\".", name),
					 errhint("Name it in one of the two.")));
		if (options->origin_none && name[0] != '\0')
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("options \"origin\" and \"include_origins\" contradict each other"),
					 errdetail("With origin \"none\" no change of origin \"%s\" is sent.",
							   name),
					 errhint("Set origin to \"any\".")));
	}
}

static void
check_prefixes(const PluginOptions *options)
{
	ListCell   *lc;
	ListCell   *lc2;

	if (!options->messages &&
		(options->message_prefixes || options->exclude_message_prefixes))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("option \"%s\" needs option \"messages\"",
						options->message_prefixes ? "message_prefixes" :
						"exclude_message_prefixes"),
				 errdetail("Without it no messages are sent."),
				 errhint("Set messages to \"on\".")));

	foreach(lc, options->message_prefixes)
	{
		PrefixPattern *included = lfirst(lc);

		foreach(lc2, options->exclude_message_prefixes)
		{
			PrefixPattern *excluded = lfirst(lc2);

			if (included->open == excluded->open &&
				strcmp(included->prefix, excluded->prefix) == 0)
				ereport(ERROR,
						(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						 errmsg("options \"message_prefixes\" and \"exclude_message_prefixes\" contradict each other"),
						 errdetail("Both list \"%s\"%s.", included->prefix,
								   included->open ? "*" : ""),
						 errhint("Name it in one of the two.")));
		}
	}
}

/*
 * options_parse
 *		Reads the client's options, a List of DefElem, into "options".
 *
 * Errors are those of the server's own pgoutput for its options, in SQLSTATE
 * and text; other options raise ERRCODE_INVALID_PARAMETER_VALUE or
 * ERRCODE_INVALID_NAME, with a hint.  Lists are allocated in the current
 * memory context.
 */
void
options_parse(List *defelems, PluginOptions *options)
{
	bool		given[lengthof(option_table)] = {0};
	ListCell   *lc;

	memset(options, 0, sizeof(*options));
	options->coalesce_writes = true;

	foreach(lc, defelems)
	{
		DefElem    *defel = lfirst(lc);
		const OptionDef *def = find_option(defel->defname);

		if (given[def - option_table])
			ereport(ERROR,
					(errcode(ERRCODE_SYNTAX_ERROR),
					 errmsg("conflicting or redundant options")));
		given[def - option_table] = true;
		parse_option(def, defel, options);
	}

#ifdef HAVE_MISSING_OPTION_CHECK
	for (int i = 0; i < lengthof(option_table); i++)
	{
		OptionKind	kind = option_table[i].kind;

		if ((kind == OPTION_PROTO_VERSION ||
			 kind == OPTION_PUBLICATION_NAMES) && !given[i])
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("option \"%s\" missing", option_table[i].name)));
	}
#endif

	check_tables(options);
	check_origins(options);
	check_prefixes(options);
}

/* Does the protocol version have streaming as it is asked for? */
static void
check_streaming(LogicalDecodingContext *ctx, const PluginOptions *options)
{
	if (options->streaming == STREAMING_OFF)
		ctx->streaming = false;
	else if (options->streaming == STREAMING_ON &&
			 options->proto_version < LOGICALREP_PROTO_STREAM_VERSION_NUM)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("requested proto_version=%d does not support streaming, need %d or higher",
						options->proto_version,
						LOGICALREP_PROTO_STREAM_VERSION_NUM)));
#ifdef HAVE_PARALLEL_STREAMING
	else if (options->streaming == STREAMING_PARALLEL &&
			 options->proto_version < LOGICALREP_PROTO_STREAM_PARALLEL_VERSION_NUM)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("requested proto_version=%d does not support parallel streaming, need %d or higher",
						options->proto_version,
						LOGICALREP_PROTO_STREAM_PARALLEL_VERSION_NUM)));
#endif
	else if (!ctx->streaming)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("streaming requested, but not supported by output plugin")));
}

/* Does the protocol version have prepared transactions, if asked for? */
static void
check_two_phase(LogicalDecodingContext *ctx, const PluginOptions *options)
{
#ifdef HAVE_TWO_PHASE_OPTION
	if (options->two_phase &&
		options->proto_version < LOGICALREP_PROTO_TWOPHASE_VERSION_NUM)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("requested proto_version=%d does not support two-phase commit, need %d or higher",
						options->proto_version,
						LOGICALREP_PROTO_TWOPHASE_VERSION_NUM)));
	if (options->two_phase && !ctx->twophase)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("two-phase commit requested, but not supported by output plugin")));
#endif
	compat_allow_two_phase(ctx, options->two_phase);
}

/*
 * options_check_protocol
 *		Checks what the options ask for against the protocol version, and tells
 *		the decoding context whether to stream and to decode prepared
 *		transactions.
 *
 * Errors are those of the server's own pgoutput.
 */
void
options_check_protocol(LogicalDecodingContext *ctx, PluginOptions *options)
{
	if (options->proto_version > LOGICALREP_PROTO_MAX_VERSION_NUM)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("client sent proto_version=%d but "
						PROTOCOL_SUPPORT_SUBJECT " protocol %d or lower",
						options->proto_version,
						LOGICALREP_PROTO_MAX_VERSION_NUM)));
	if (options->proto_version < LOGICALREP_PROTO_MIN_VERSION_NUM)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("client sent proto_version=%d but "
						PROTOCOL_SUPPORT_SUBJECT " protocol %d or higher",
						options->proto_version,
						LOGICALREP_PROTO_MIN_VERSION_NUM)));
#ifndef HAVE_MISSING_OPTION_CHECK
	if (options->publication_names == NIL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("publication_names parameter missing")));
#endif
	check_streaming(ctx, options);
	check_two_phase(ctx, options);
}

/* What an option's value looks like, for pgoutput_ext_options(). */
static const char *
option_values(const OptionDef *def)
{
	switch (def->kind)
	{
		case OPTION_PROTO_VERSION:
			return "integer";
		case OPTION_PUBLICATION_NAMES:
			return "list of names";
		case OPTION_STREAMING:
		case OPTION_ORIGIN:
		case OPTION_ENUM:
			return def->values;
		case OPTION_BOOL:
			return "off, on";
		case OPTION_TABLES:
			return "list of schema.table";
		case OPTION_COLUMNS:
			return "list of schema.table.column";
		case OPTION_PREFIXES:
			return "list of prefixes";
		case OPTION_ORIGINS:
			return "list of origin names";
	}
	return NULL;
}

PG_FUNCTION_INFO_V1(pgoutput_ext_options);

/*
 * pgoutput_ext_options() returns setof (name, kind, allowed, initial,
 * description)
 *		The option table, a row per option that this server's pgoutput_ext
 *		takes.
 */
Datum
pgoutput_ext_options(PG_FUNCTION_ARGS)
{
	static const char *const group_names[] = {"pgoutput", "policy", "metadata"};
	FuncCallContext *call;
	TupleDesc	desc;

	if (SRF_IS_FIRSTCALL())
	{
		MemoryContext old;

		call = SRF_FIRSTCALL_INIT();
		old = MemoryContextSwitchTo(call->multi_call_memory_ctx);
		if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
			elog(ERROR, "return type must be a row type");
		call->tuple_desc = BlessTupleDesc(desc);
		MemoryContextSwitchTo(old);
	}

	call = SRF_PERCALL_SETUP();
	if (call->call_cntr < lengthof(option_table) &&
		option_table[call->call_cntr].group != GROUP_INTERNAL)
	{
		const OptionDef *def = &option_table[call->call_cntr];
		const char *columns[] = {def->name, group_names[def->group],
		option_values(def), def->value, def->description};
		Datum		values[lengthof(columns)];
		bool		nulls[lengthof(columns)];

		for (int i = 0; i < lengthof(columns); i++)
		{
			nulls[i] = columns[i] == NULL;
			values[i] = nulls[i] ? (Datum) 0 : CStringGetTextDatum(columns[i]);
		}
		SRF_RETURN_NEXT(call,
						HeapTupleGetDatum(heap_form_tuple(call->tuple_desc,
														  values, nulls)));
	}
	SRF_RETURN_DONE(call);
}
