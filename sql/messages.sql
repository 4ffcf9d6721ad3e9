-- Options message_prefixes and exclude_message_prefixes.

SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS pgoutput_ext;
CREATE SCHEMA messages;
SET search_path = messages, public;
\set SHOW_CONTEXT never

CREATE FUNCTION sent(VARIADIC options text[] DEFAULT '{}') RETURNS text LANGUAGE sql AS $$
	SELECT string_agg(CASE message WHEN 'Begin' THEN '[' WHEN 'Commit' THEN ']' ELSE quote_ident(detail ->> 'prefix') END, ' ' ORDER BY n)
	FROM pgoutput_ext_peek('regress_messages', NULL, NULL,
			VARIADIC ARRAY['proto_version', '1', 'publication_names', 'messages', 'empty_transactions', 'skip'] || options)
		WITH ORDINALITY p (lsn, xid, message, relation, old, new, detail, n) $$;

CREATE PUBLICATION messages;
SELECT FROM pg_create_logical_replication_slot('regress_messages', 'pgoutput_ext');
SELECT FROM pg_logical_emit_message(true, 'a', 'content');
SELECT FROM pg_logical_emit_message(false, 'a', 'content');
SELECT FROM pg_logical_emit_message(true, 'ab', 'content');
SELECT FROM pg_logical_emit_message(true, 'A', 'content');
SELECT FROM pg_logical_emit_message(true, '', 'content');
SELECT FROM pg_logical_emit_message(true, 'a*', 'content');
SELECT FROM pg_logical_emit_message(true, 'x,y "z"', 'content');
SELECT FROM pg_logical_emit_message(true, repeat('long', 20), 'content');
BEGIN;
SELECT FROM pg_logical_emit_message(true, 'b', 'content');
SELECT FROM pg_logical_emit_message(false, 'b', 'content');
SELECT FROM pg_logical_emit_message(true, 'c', 'content');
COMMIT;

SELECT sent();
SELECT sent('messages', 'off');
SELECT sent('message_prefixes', '*');
SELECT sent('message_prefixes', 'a');
SELECT sent('message_prefixes', 'A');
SELECT sent('message_prefixes', '"A"');
SELECT sent('message_prefixes', 'a*');
SELECT sent('message_prefixes', '"a"*');
SELECT sent('message_prefixes', '"a*"');
SELECT sent('message_prefixes', '"a*"*,""');
SELECT sent('message_prefixes', '""');
SELECT sent('message_prefixes', '""*');
SELECT sent('message_prefixes', '"x,y ""z"""');
SELECT sent('message_prefixes', 'x*, c');
-- prefixes are not cut like names
SELECT sent('message_prefixes', repeat('long', 20));
SELECT sent('message_prefixes', left(repeat('long', 20), 63));
SELECT sent('message_prefixes', left(repeat('long', 20), 63) || '*');
SELECT sent('exclude_message_prefixes', 'a*, b, long*');
SELECT sent('exclude_message_prefixes', '*');
SELECT sent('message_prefixes', 'a*', 'exclude_message_prefixes', 'ab');
SELECT sent('message_prefixes', 'a,b', 'exclude_message_prefixes', 'a*');

SELECT pg_drop_replication_slot('regress_messages');
DROP PUBLICATION messages;
DROP SCHEMA messages CASCADE;
