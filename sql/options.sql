-- What the plugin takes as options, and what it says to those it does not take.
-- A refused option ends the start, before anything is sent.

SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS pgoutput_ext;
CREATE SCHEMA options;
SET search_path = options, public;
\set SHOW_CONTEXT never

CREATE TABLE t (a int PRIMARY KEY);
CREATE PUBLICATION options_pub FOR TABLE t;
SELECT FROM pg_create_logical_replication_slot('regress_options', 'pgoutput_ext');
INSERT INTO t VALUES (1);

-- The table of options; servers from 16 on stream in parallel, too, and those
-- from 15 on have two_phase.
SELECT name, category, regexp_replace(allowed_values, ', parallel$', '') AS allowed_values, default_value, description
FROM pgoutput_ext_options() WHERE name <> 'two_phase';
SELECT EXISTS (SELECT FROM pgoutput_ext_options() WHERE name = 'two_phase') = (current_setting('server_version_num')::int >= 150000) AS two_phase;

-- without Begin and Commit, for 14 sends empty transactions
CREATE FUNCTION peek(VARIADIC options text[] DEFAULT '{}') RETURNS SETOF text LANGUAGE sql AS $$
	SELECT message FROM pgoutput_ext_peek('regress_options', NULL, NULL,
		VARIADIC ARRAY['proto_version', '1', 'publication_names', 'options_pub'] || options)
	WHERE message NOT IN ('Begin', 'Commit') $$;

-- pgoutput's own errors
SELECT peek('unchanged', 'fill');
\echo :SQLSTATE
SELECT peek('Binary', 'on');
SELECT peek('binary', 'on', 'binary', 'on');
\echo :SQLSTATE
SELECT peek('split_key_updates', 'on', 'binary', 'on', 'split_key_updates', 'off');
\echo :SQLSTATE
SELECT peek('binary', 'maybe');
\echo :SQLSTATE
SELECT peek('origin', 'local');
\echo :SQLSTATE

-- unknown values
SELECT peek('unchanged_toast', 'filled');
\echo :SQLSTATE
SELECT peek('unchanged_toast', 'fil');
SELECT peek('unchanged_toast', '');
SELECT peek('unchanged_toast', 'marker, fill');
SELECT peek('missing_publication', 'ignore');
SELECT peek('missing_identity', 'server');
SELECT peek('generated_columns', 'virtual');
SELECT peek('partition_root', 'true');
SELECT peek('empty_transactions', 'on');
SELECT peek('value_format', 'iso');
SELECT peek('progress_interval', '');
SELECT peek('progress_interval', '0');
SELECT peek('progress_interval', '-1MB');
SELECT peek('progress_interval', '0.4B');
SELECT peek('progress_interval', '64 MiB');
SELECT peek('progress_interval', '1e30');
SELECT peek('progress_interval', 'NaN');
SELECT peek('progress_interval', 'on');
SELECT peek('split_key_updates', 'yes');
\echo :SQLSTATE
SELECT peek('relation_metadata', '2');
SELECT peek('type_metadata', '');
SELECT peek('transaction_metadata', 'none');
SELECT peek('publication_metadata', 'o');

-- case does not matter for words
SELECT count(*) FROM peek('unchanged_toast', 'FILL', 'missing_publication', 'Warn', 'split_key_updates', 'ON', 'type_metadata', 'False');

-- lists that are none
SELECT peek('include_tables', 't');
\echo :SQLSTATE
SELECT peek('include_tables', '');
\echo :SQLSTATE
SELECT peek('exclude_columns', 'options.t');
\echo :SQLSTATE
SELECT peek('message_prefixes', 'a b', 'messages', 'on');
\echo :SQLSTATE
SELECT peek('include_origins', '*');
\echo :SQLSTATE
SELECT peek('exclude_origins', '');
SELECT peek('exclude_message_prefixes', '  ', 'messages', 'on');

-- each odd list, by an error that says nothing but this; every list has one
-- element of the right form before it
CREATE TABLE list (number serial, option text, value text);
INSERT INTO list (option, value)
SELECT 'include_tables', 'a.b' || odd FROM unnest(ARRAY[
	',', ',,', ',.', ',a', ',a.', ',.b', ',a.b.c', ',"', ',"a', ',"a"."', ',"a"."b', ',"a".""', ',"".b',
	',a.b c.d', ',a..b', ',a.*b*c', ',a.b**', ',a*c.b', ',**.a', ',"a"**.b', ',""*.b', ',*"".b', ',*', ',a b', ',a."b"c', '.c', '"', '**', ' c', ', ,c.d', ',"a""', E',\\'
]) odd
UNION ALL
SELECT 'exclude_columns', 'a.b.c' || odd FROM unnest(ARRAY[
	',', ',a.b', ',a.b.', ',a.b.c.d', ',a.b."', ',*.*', ',*.*.c**', ',a.b.""']) odd
UNION ALL
SELECT 'message_prefixes', 'a' || odd FROM unnest(ARRAY[',', ',"', ',"b', ' b', '*b', '**', ',*c', '"b"']) odd
UNION ALL
SELECT 'include_origins', 'a' || odd FROM unnest(ARRAY[',', ',"', ',"b', ' b', '*', '"b"', ',,b']) odd;
\set VERBOSITY terse
SELECT format('SELECT peek(%L, %L, ''messages'', ''on'')', option, value) FROM list ORDER BY number \gexec
\set VERBOSITY default

-- lists that are fine
SELECT count(*) FROM peek('include_tables', E' options.t ,\n "options" . "t",*.t,options.*,*.*,"a,b"."c""d.*"');
SELECT count(*) FROM peek('exclude_columns', 'options.t.x, *.t.x, options.*.x, *.*."x y"');
SELECT count(*) FROM peek('messages', 'on', 'message_prefixes', 'a, b*, "c,d"*, "", *');
SELECT count(*) FROM peek('exclude_origins', 'a,"b c",pg_16389');

-- lists that contradict each other
SELECT peek('include_tables', 'options.t, options.*', 'exclude_tables', 'public.t,"options".*');
\echo :SQLSTATE
SELECT peek('exclude_tables', '*."T 1"', 'include_tables', '*."T 1"');
SELECT peek('messages', 'on', 'message_prefixes', 'a*,b', 'exclude_message_prefixes', 'b*,a*');
\echo :SQLSTATE
SELECT peek('include_origins', '"",a', 'exclude_origins', 'b,a');
\echo :SQLSTATE
SELECT peek('include_origins', '"",a', 'origin', 'none');
\echo :SQLSTATE
SELECT peek('exclude_origins', 'a,""', 'origin', 'none');
\echo :SQLSTATE
-- these do not
SELECT count(*) FROM peek('include_tables', 'options.*', 'exclude_tables', 'options.other');
SELECT count(*) FROM peek('messages', 'on', 'message_prefixes', 'a*', 'exclude_message_prefixes', 'a');
SELECT count(*) FROM peek('include_origins', '""', 'origin', 'none');

-- prefixes of messages that are not sent
SELECT peek('message_prefixes', 'a', 'messages', 'off');
\echo :SQLSTATE
SELECT peek('exclude_message_prefixes', 'a*', 'messages', 'off');
\echo :SQLSTATE
SELECT FROM pg_logical_slot_peek_binary_changes('regress_options', NULL, NULL,
	'proto_version', '1', 'publication_names', 'options_pub', 'message_prefixes', 'a');

-- An empty version is malformed, also where the server's pgoutput takes it for 0,
-- which it refuses.
SELECT FROM pg_logical_slot_peek_binary_changes('regress_options', NULL, NULL,
	'proto_version', '', 'publication_names', 'options_pub');
\echo :SQLSTATE

-- After all these the slot is as it was, and the session clean.
SELECT peek();
SELECT plugin, active FROM pg_replication_slots WHERE slot_name = 'regress_options';

SELECT pg_drop_replication_slot('regress_options');
DROP PUBLICATION options_pub;
DROP SCHEMA options CASCADE;
