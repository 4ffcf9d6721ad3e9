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
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/varlena.h"

#include "compat.h"
#ifdef HAVE_PARALLEL_STREAMING
#include "catalog/pg_subscription.h"
#include "commands/subscriptioncmds.h"
#endif
#include "options/option_checks.h"
#include "options/options.h"
#include "options/pattern.h"
#include "options/setting.h"

typedef enum OptionKind
{
	OPTION_PROTO_VERSION,
	OPTION_PUBLICATION_NAMES,
	OPTION_STREAMING,
	OPTION_ORIGIN,
	OPTION_BOOL,
	OPTION_ENUM,
	OPTION_SIZE,				/* in bytes, 0 for off */
	OPTION_TIME,				/* in ms, -1 for off */
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
	void		(*check) (const PluginOptions *options);	/* beside others */
	const char *description;
} OptionDef;

#define MEMBER(name) offsetof(PluginOptions, name)

#ifdef HAVE_PARALLEL_STREAMING
#define STREAMING_VALUES "off, on, parallel"
#else
#define STREAMING_VALUES "off, on"
#endif

static const OptionDef option_table[] =
{
	{"proto_version", GROUP_PGOUTPUT, OPTION_PROTO_VERSION,
		MEMBER(proto_version), NULL, NULL, NULL,
	"Protocol version, from 1 to the highest that the server has; required."},
	{"publication_names", GROUP_PGOUTPUT, OPTION_PUBLICATION_NAMES,
		MEMBER(publication_names), NULL, NULL, NULL,
	"Publications whose changes are sent; required."},
	{"binary", GROUP_PGOUTPUT, OPTION_BOOL,
		MEMBER(binary), NULL, "off", NULL,
	"Send column values in binary where the type can."},
	{"messages", GROUP_PGOUTPUT, OPTION_BOOL,
		MEMBER(messages), NULL, "off", NULL,
	"Send what pg_logical_emit_message wrote."},
	{"streaming", GROUP_PGOUTPUT, OPTION_STREAMING,
		MEMBER(streaming), STREAMING_VALUES, "off", NULL,
	"Send large transactions before they end."},
#ifdef HAVE_TWO_PHASE_OPTION
	{"two_phase", GROUP_PGOUTPUT, OPTION_BOOL,
		MEMBER(two_phase), NULL, "off", NULL,
	"Send prepared transactions when they are prepared."},
#endif
	{"origin", GROUP_PGOUTPUT, OPTION_ORIGIN,
		MEMBER(origin_none), "any, none", "any", NULL,
	"Send all changes, or only those without a replication origin."},

	{"unchanged_toast", GROUP_POLICY, OPTION_ENUM,
		MEMBER(unchanged_toast), "marker, fill, error", "marker", NULL,
	"What to send for an unchanged out-of-line value of an UPDATE."},
	{"missing_publication", GROUP_POLICY, OPTION_ENUM,
		MEMBER(missing_publication), "server, error, warn, skip", "server", NULL,
	"What to do about a publication that does not exist as of the change."},
	{"missing_identity", GROUP_POLICY, OPTION_ENUM,
		MEMBER(missing_identity), "skip, warn, error", "skip", NULL,
	"What to do about an UPDATE or DELETE without a usable key."},
	{"generated_columns", GROUP_POLICY, OPTION_ENUM,
		MEMBER(generated_columns), "publication, stored, none", "publication", NULL,
	"Whether stored generated columns are sent."},
	{"partition_root", GROUP_POLICY, OPTION_ENUM,
		MEMBER(partition_root), "publication, always, never", "publication", NULL,
	"Under which relation a partition's changes are announced."},
	{"inheritance_root", GROUP_POLICY, OPTION_ENUM,
		MEMBER(inheritance_root), "never, always", "never", NULL,
	"Whether changes of a child by INHERITS go by its topmost parent."},
	{"include_tables", GROUP_POLICY, OPTION_TABLES,
		MEMBER(include_tables), NULL, NULL, options_check_tables,
	"Send only changes of the tables that match."},
	{"exclude_tables", GROUP_POLICY, OPTION_TABLES,
		MEMBER(exclude_tables), NULL, NULL, options_check_tables,
	"Do not send changes of the tables that match."},
	{"exclude_columns", GROUP_POLICY, OPTION_COLUMNS,
		MEMBER(exclude_columns), NULL, NULL, NULL,
	"Leave out the columns that match."},
	{"message_prefixes", GROUP_POLICY, OPTION_PREFIXES,
		MEMBER(message_prefixes), NULL, NULL, options_check_prefixes,
	"Send only messages whose prefix matches."},
	{"exclude_message_prefixes", GROUP_POLICY, OPTION_PREFIXES,
		MEMBER(exclude_message_prefixes), NULL, NULL, options_check_prefixes,
	"Do not send messages whose prefix matches."},
	{"include_origins", GROUP_POLICY, OPTION_ORIGINS,
		MEMBER(include_origins), NULL, NULL, options_check_origins,
	"Send only changes of the origins named."},
	{"exclude_origins", GROUP_POLICY, OPTION_ORIGINS,
		MEMBER(exclude_origins), NULL, NULL, options_check_origins,
	"Do not send changes of the origins named."},
	{"empty_transactions", GROUP_POLICY, OPTION_ENUM,
		MEMBER(empty_transactions), "server, skip, send", "server", NULL,
	"Whether transactions with nothing to send are sent."},
	{"progress_interval", GROUP_POLICY, OPTION_SIZE,
		MEMBER(progress_interval), NULL, "off", NULL,
	"Send an empty transaction after that much WAL without one that was sent."},
	{"split_key_updates", GROUP_POLICY, OPTION_BOOL,
		MEMBER(split_key_updates), NULL, "off", NULL,
	"Send an UPDATE of the key as Delete and Insert."},
	{"value_format", GROUP_POLICY, OPTION_ENUM,
		MEMBER(value_format), "session, canonical", "session", NULL,
	"Whether text values follow the session's settings."},
	{"log_statistics", GROUP_POLICY, OPTION_TIME,
		MEMBER(log_statistics), NULL, "off", NULL,
	"Log what the session has done, at most this often and at its end."},

	{"relation_metadata", GROUP_METADATA, OPTION_BOOL,
		MEMBER(relation_metadata), NULL, "off", NULL,
	"Describe each relation after its Relation message."},
	{"type_metadata", GROUP_METADATA, OPTION_BOOL,
		MEMBER(type_metadata), NULL, "off", NULL,
	"Describe each type after its Type message."},
	{"transaction_metadata", GROUP_METADATA, OPTION_BOOL,
		MEMBER(transaction_metadata), NULL, "off", NULL,
	"Describe each transaction after its first message."},
	{"publication_metadata", GROUP_METADATA, OPTION_BOOL,
		MEMBER(publication_metadata), NULL, "off", NULL,
	"Describe the publications, at first and when they changed."},

	{"coalesce_writes", GROUP_INTERNAL, OPTION_BOOL,
		MEMBER(coalesce_writes), NULL, "on", NULL,
	"Gather messages before they are given to the walsender."},
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
	uint64		parsed;

	if (!compat_parse_version(value, &parsed))
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

/*
 * A Boolean option of our own: the words that pgoutput takes for its own, and
 * no word for "on".
 */
static bool
parse_own_bool(const OptionDef *def, DefElem *defel)
{
	char	   *value = defel->arg ? defGetString(defel) : "on";

	if (pg_strcasecmp(value, "on") == 0 || pg_strcasecmp(value, "true") == 0)
		return true;
	if (pg_strcasecmp(value, "off") == 0 || pg_strcasecmp(value, "false") == 0)
		return false;
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("invalid value for option \"%s\": \"%s\"",
					def->name, value),
			 errdetail("%s", def->description),
			 errhint("Valid values are: off, on.")));
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
			 errdetail("%s", def->description),
			 errhint("Valid values are: %s.", def->values)));
}

/* "off", which is 0, or bytes, with a unit as the server's settings take it. */
static uint64
parse_size(const OptionDef *def, const char *value)
{
	double		size;

	if (pg_strcasecmp(value, "off") == 0)
		return 0;
	if (parse_real(value, &size, GUC_UNIT_BYTE, NULL) &&
		size >= 1 && size <= (double) (PG_INT64_MAX / 2))
		return (uint64) size;
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("invalid value for option \"%s\": \"%s\"",
					def->name, value),
			 errdetail("%s", def->description),
			 errhint("Valid values are: off, and sizes such as 64MB; the units are B, kB, MB, GB and TB.")));
}

/* "off", or a time as the server's settings take it; without a unit in ms. */
static int
parse_time(const OptionDef *def, const char *value)
{
	int			time;
	const char *hint = NULL;

	if (pg_strcasecmp(value, "off") == 0)
		return -1;
	if (parse_int(value, &time, GUC_UNIT_MS, &hint) && time >= 0)
		return time;
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("invalid value for option \"%s\": \"%s\"",
					def->name, value),
			 errdetail("%s", def->description),
			 errhint("%s", hint ? _(hint) :
					 "Valid values are: off, or a time; 0 stands for each transaction's end.")));
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
			hint = "List elements like schema.table, schema.*, *.table or schema.prefix_*, separated by commas.";
			break;
		case OPTION_COLUMNS:
			parsed = pattern_parse(value, 3, &list);
			hint = "List elements like schema.table.column, *.*.column or *.*.prefix_*, separated by commas.";
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
				(errcode(ERRCODE_SYNTAX_ERROR),
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
			*(bool *) member = def->group == GROUP_PGOUTPUT ?
				defGetBoolean(defel) : parse_own_bool(def, defel);
			break;
		case OPTION_ENUM:
			*(int *) member = parse_enum(def, defGetString(defel));
			break;
		case OPTION_SIZE:
			*(uint64 *) member = parse_size(def, defGetString(defel));
			break;
		case OPTION_TIME:
			*(int *) member = parse_time(def, defGetString(defel));
			break;
		default:
			*(List **) member = parse_list(def, defGetString(defel));
			break;
	}
}

/* Takes an option over, once. */
static void
take_option(DefElem *defel, const OptionDef *def, bool *given,
			PluginOptions *options)
{
	if (given[def - option_table])
		ereport(ERROR,
				(errcode(ERRCODE_SYNTAX_ERROR),
				 errmsg("conflicting or redundant options")));
	given[def - option_table] = true;
	parse_option(def, defel, options);
}

/* Names the setting in errors about what it holds. */
static void
setting_error_context(void *arg)
{
	errcontext("setting \"%s\" of role \"%s\", which holds for its client \"%s\"",
			   SETTING_NAME, GetUserNameFromId(GetUserId(), true),
			   application_name ? application_name : "");
}

/* Takes over what the setting holds and the client does not give. */
static void
take_setting(List *defelems, bool *given, PluginOptions *options)
{
	bool		in_setting[lengthof(option_table)] = {0};
	PluginOptions ignored;
	ErrorContextCallback callback;
	ListCell   *lc;

	callback.callback = setting_error_context;
	callback.arg = NULL;
	callback.previous = error_context_stack;
	error_context_stack = &callback;

	foreach(lc, defelems)
	{
		DefElem    *defel = lfirst(lc);
		const OptionDef *def = find_option(defel->defname);
		int			i = def - option_table;

		if (def->group == GROUP_PGOUTPUT || def->group == GROUP_INTERNAL)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("option \"%s\" cannot be given in setting \"%s\"",
							def->name, SETTING_NAME),
					 errdetail("pgoutput's own options are the client's."),
					 errhint("Take it out of the setting, and give it in the client's configuration.")));
		/* one that the client gives is checked all the same */
		take_option(defel, def, in_setting, given[i] ? &ignored : options);
	}
	for (int i = 0; i < lengthof(option_table); i++)
		given[i] |= in_setting[i];
	error_context_stack = callback.previous;
}

/*
 * options_parse
 *		Reads the client's options, a List of DefElem, into "options", and those
 *		of the setting that the client does not give.
 *
 * Errors are those of the server's own pgoutput for its options, in SQLSTATE
 * and text; other options raise ERRCODE_INVALID_PARAMETER_VALUE, or
 * ERRCODE_SYNTAX_ERROR for a list, with detail and hint.  Lists are allocated
 * in the current memory context.
 */
void
options_parse(List *defelems, List *setting, PluginOptions *options)
{
	bool		given[lengthof(option_table)] = {0};
	ListCell   *lc;

	memset(options, 0, sizeof(*options));
	options->coalesce_writes = true;
	options->log_statistics = -1;

	foreach(lc, defelems)
	{
		DefElem    *defel = lfirst(lc);

		take_option(defel, find_option(defel->defname), given, options);
	}
	take_setting(setting, given, options);

	for (int i = 0; i < lengthof(option_table); i++)
	{
		const OptionDef *def = &option_table[i];

#ifdef HAVE_MISSING_OPTION_CHECK
		if (!given[i] && (def->kind == OPTION_PROTO_VERSION ||
						  def->kind == OPTION_PUBLICATION_NAMES))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("option \"%s\" missing", def->name)));
#endif
		if (given[i] && def->check)
			def->check(options);
	}
}

static void
append_options(StringInfo out, List *defelems)
{
	ListCell   *lc;

	foreach(lc, defelems)
	{
		DefElem    *defel = lfirst(lc);

		appendStringInfo(out, "%s%s '%s'", out->len > 0 ? ", " : "",
						 defel->defname,
						 defel->arg ? defGetString(defel) : "on");
	}
}

/*
 * options_text
 *		The options of a session for people: the client's, and those that the
 *		setting adds.
 */
char *
options_text(List *defelems, List *setting)
{
	StringInfoData text;
	List	   *added = NIL;
	ListCell   *lc;
	ListCell   *lc2;

	foreach(lc, setting)
	{
		DefElem    *defel = lfirst(lc);
		bool		given = false;

		foreach(lc2, defelems)
			given |= strcmp(((DefElem *) lfirst(lc2))->defname,
							defel->defname) == 0;
		if (!given)
			added = lappend(added, defel);
	}

	initStringInfo(&text);
	append_options(&text, defelems);
	append_options(&text, added);
	return text.data;
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
		case OPTION_SIZE:
			return "off, or a size";
		case OPTION_TIME:
			return "off, or a time";
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

COMPAT_FUNCTION_INFO_V1(pgoutput_ext_options);

/*
 * pgoutput_ext_options() returns setof (name, category, allowed_values,
 * default_value, description)
 *		The option table, a row per option that pgoutput_ext takes on this
 *		server.  The default is null where there is none, or nothing is listed.
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
