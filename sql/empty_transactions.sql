-- Option empty_transactions: Begin and Commit with nothing between them.

SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS pgoutput_ext;
CREATE SCHEMA empty_transactions;
SET search_path = empty_transactions, public;
\set SHOW_CONTEXT never

CREATE FUNCTION sent(VARIADIC options text[] DEFAULT '{}') RETURNS text LANGUAGE sql AS $$
	SELECT string_agg(CASE message WHEN 'Begin' THEN '[' WHEN 'Commit' THEN ']' ELSE coalesce(new ->> 'a', detail ->> 'prefix', message) END, ' ' ORDER BY n)
	FROM pgoutput_ext_peek('regress_empty_transactions', NULL, NULL,
			VARIADIC ARRAY['proto_version', '1', 'publication_names', 'empty_transactions'] || options)
		WITH ORDINALITY p (lsn, xid, message, relation, old, new, detail, n)
	WHERE message <> 'Relation' $$;

CREATE TABLE t (a int PRIMARY KEY);
CREATE TABLE other (a int);
CREATE PUBLICATION empty_transactions FOR TABLE t;
SELECT FROM pg_create_logical_replication_slot('regress_empty_transactions', 'pgoutput_ext');
INSERT INTO t VALUES (1);
INSERT INTO other VALUES (1);
INSERT INTO t VALUES (2);
SELECT FROM pg_logical_emit_message(true, 'message', '');
SELECT FROM pg_logical_emit_message(false, 'now', '');
BEGIN;
INSERT INTO other VALUES (2);
SAVEPOINT s;
INSERT INTO t VALUES (3);
ROLLBACK TO s;
COMMIT;
BEGIN;
INSERT INTO other VALUES (3);
INSERT INTO t VALUES (4);
COMMIT;

SELECT sent('empty_transactions', 'send');
SELECT sent('empty_transactions', 'skip');
SELECT sent('empty_transactions', 'send', 'messages', 'off');
SELECT sent('empty_transactions', 'skip', 'messages', 'off');
-- 15 and newer skip, 14 sends
SELECT CASE WHEN current_setting('server_version_num')::int >= 150000 THEN 'skip' ELSE 'send' END AS does \gset
SELECT sent() = sent('empty_transactions', :'does') AS server,
	sent('empty_transactions', 'server') = sent('empty_transactions', :'does') AS named;
-- what other options leave out leaves an empty transaction
SELECT sent('empty_transactions', 'send', 'exclude_tables', '*.t', 'messages', 'off');
SELECT sent('empty_transactions', 'skip', 'exclude_tables', '*.t', 'messages', 'off');
-- Apart from these pairs the messages are the same.
SELECT count(*) FROM (
	SELECT xid::text, data FROM pg_logical_slot_peek_binary_changes('regress_empty_transactions', NULL, NULL,
		'proto_version', '1', 'publication_names', 'empty_transactions', 'empty_transactions', 'skip')
	EXCEPT
	SELECT xid::text, data FROM pg_logical_slot_peek_binary_changes('regress_empty_transactions', NULL, NULL,
		'proto_version', '1', 'publication_names', 'empty_transactions', 'empty_transactions', 'send')) d;

SELECT pg_drop_replication_slot('regress_empty_transactions');
DROP PUBLICATION empty_transactions;
DROP SCHEMA empty_transactions CASCADE;
