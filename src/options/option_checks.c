/*-------------------------------------------------------------------------
 *
 * option_checks.c
 *	  Checks of options against each other and against the protocol version.
 *
 * Called by the startup callback, by way of the option table in options.c,
 * when all options have been read, in the decoding context's memory context.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/builtins.h"

#include "compat.h"
#include "options/option_checks.h"
#include "options/pattern.h"

/* A part of a pattern as it can be written in a list. */
static char *
part_text(const NamePart *part)
{
	return psprintf("%s%s%s", part->any_before ? "*" : "",
					part->length > 0 ? quote_identifier(part->name) : "",
					part->any_behind ? "*" : "");
}

/*
 * options_check_tables
 *		No pattern may be both asked for and excluded.  One that covers another
 *		is no contradiction: what is left is sent, if anything.
 */
void
options_check_tables(const PluginOptions *options)
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
								   part_text(&included->parts[0]),
								   part_text(&included->parts[1])),
						 errhint("Name it in one of the two.")));
		}
	}
}

/*
 * options_check_origins
 *		No origin may be both asked for and excluded, also by option origin.
 */
void
options_check_origins(const PluginOptions *options)
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
	if (options->origin_none && name_list_contains(options->exclude_origins, ""))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("options \"origin\" and \"exclude_origins\" contradict each other"),
				 errdetail("With origin \"none\" only local changes are sent, and exclude_origins lists them as \"\"."),
				 errhint("Set origin to \"any\".")));
}

/*
 * options_check_prefixes
 *		Prefixes are for messages that are sent, and none may be both asked for
 *		and excluded.
 */
void
options_check_prefixes(const PluginOptions *options)
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
