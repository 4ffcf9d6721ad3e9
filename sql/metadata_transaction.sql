-- transaction_metadata and publication_metadata

SET client_min_messages = warning;
CREATE SCHEMA metadata_transaction;
SET search_path = metadata_transaction, public;
\pset format unaligned

-- All messages of a slot: Message frames with their content, others by type.
CREATE FUNCTION messages(slot name, VARIADIC options text[],
	OUT n bigint, OUT xid xid, OUT type text, OUT flags int, OUT prefix text, OUT content jsonb)
RETURNS SETOF record LANGUAGE sql AS $$
	SELECT ordinality, xid, encode(substr(data, 1, 1), 'escape'),
		CASE WHEN z > 0 THEN get_byte(data, 1) END,
		CASE WHEN z > 0 THEN encode(substr(data, 11, z - 1), 'escape') END,
		CASE WHEN z > 0 THEN CASE WHEN substr(data, 11, 13) = 'pgoutput_ext.' THEN convert_from(substr(data, 15 + z), getdatabaseencoding())::jsonb END END
	FROM pg_logical_slot_peek_binary_changes(slot, NULL, NULL, VARIADIC ARRAY['proto_version', '1'] || options
			|| CASE WHEN 'empty_transactions' = ANY (options) THEN '{}'::text[] ELSE '{empty_transactions,skip}' END)
		WITH ORDINALITY,
		LATERAL (SELECT CASE get_byte(data, 0) WHEN ascii('M') THEN position('\x00' in substr(data, 11)) END) s (z) $$;

CREATE TABLE t (id int, xid xid8 DEFAULT pg_current_xact_id());
CREATE TABLE hidden (id int);
CREATE PUBLICATION metadata_transaction FOR TABLE t;
SELECT count(pg_create_logical_replication_slot('metadata_transaction', 'pgoutput_ext'));

INSERT INTO t VALUES (1), (2), (3);
INSERT INTO hidden VALUES (1);
BEGIN;
INSERT INTO t VALUES (4);
SAVEPOINT s;
INSERT INTO t VALUES (5), (6);
RELEASE s;
SAVEPOINT s;
INSERT INTO t VALUES (7);
ROLLBACK TO s;
INSERT INTO hidden VALUES (2);
COMMIT;
-- A Message outside of a transaction is read for sure once a commit has flushed it.
SELECT count(pg_logical_emit_message(false, 'app', 'x'));
BEGIN;
INSERT INTO t VALUES (8);
SELECT count(pg_logical_emit_message(true, 'app', 'x'));
COMMIT;

-- Begin, the frame, the changes; its xid is the server's own with the epoch.
SELECT type, prefix, flags, content - ARRAY['xid', 'memory_bytes', 'first_lsn'] AS content, (content->>'memory_bytes')::int > 0 AS memory,
	(SELECT min(id) FROM t WHERE t.xid::text = content->>'xid') AS first_id, (content->>'first_lsn')::pg_lsn <= pg_current_wal_lsn() AS lsn
FROM messages('metadata_transaction', 'publication_names', 'metadata_transaction', 'transaction_metadata', 'on', 'messages', 'on') ORDER BY n;
SELECT string_agg(type, '' ORDER BY n) FROM messages('metadata_transaction', 'publication_names', 'metadata_transaction');
-- Empty transactions are told of when they are sent.
SELECT string_agg(type, '' ORDER BY n) FROM messages('metadata_transaction', 'publication_names', 'metadata_transaction', 'transaction_metadata', 'on', 'empty_transactions', 'send');

-- Publications: in the first transaction, and when what is told of them changed.
SELECT FROM pg_replication_slot_advance('metadata_transaction', pg_current_wal_lsn());
CREATE VIEW told AS SELECT n, type, prefix, jsonb_path_query_array(content, '$.publications[*].name') AS names,
	jsonb_path_query_array(content, '$.publications[*].found') AS found,
	jsonb_path_query_array(content, '$.publications[*].kinds') AS kinds, jsonb_path_query_array(content, '$.publications[*].actions') AS actions,
	jsonb_path_query_array(content, '$.publications[*].via_root') AS via_root
FROM messages('metadata_transaction', 'publication_names', 'metadata_transaction, "Second", metadata_transaction_3',
	'publication_metadata', 'on', 'missing_publication', 'skip');
SELECT count(pg_logical_emit_message(true, 'app', 'not sent'));
INSERT INTO t VALUES (1);
INSERT INTO t VALUES (2);
CREATE PUBLICATION "Second" FOR ALL TABLES WITH (publish = 'update, truncate', publish_via_partition_root);
INSERT INTO t VALUES (3);
CREATE PUBLICATION unnamed FOR TABLE t;
ALTER PUBLICATION metadata_transaction OWNER TO CURRENT_USER;
ALTER PUBLICATION metadata_transaction ADD TABLE hidden;
INSERT INTO t VALUES (4);
CREATE PUBLICATION metadata_transaction_3 WITH (publish = '');
INSERT INTO hidden VALUES (4);
BEGIN;
INSERT INTO t VALUES (5);
ALTER PUBLICATION metadata_transaction_3 ADD TABLE hidden;
INSERT INTO t VALUES (5);
ALTER PUBLICATION "Second" SET (publish = 'insert, delete');
INSERT INTO t VALUES (6);
ALTER PUBLICATION "Second" RENAME TO another;
INSERT INTO t VALUES (7);
ALTER PUBLICATION another RENAME TO "Second";
INSERT INTO t VALUES (8);
SAVEPOINT s;
DROP PUBLICATION metadata_transaction_3;
ROLLBACK TO s;
INSERT INTO t VALUES (9);
COMMIT;
BEGIN;
DROP PUBLICATION "Second";
TRUNCATE hidden;
COMMIT;
SELECT type, names, found, kinds, actions, via_root FROM told WHERE type NOT IN ('B', 'C', 'R') ORDER BY n;
-- In order: Begin, transaction, publications, Type, type, Relation, relation.
CREATE TYPE mood AS ENUM ('a');
ALTER TABLE t ADD m mood;
INSERT INTO t (m) VALUES ('a') RETURNING xid::xid AS last_xid \gset
SELECT type, prefix, content->'publications'->0->>'id' = p.oid::text AS id, content->'publications'->0->>'generated_columns' AS generated
FROM messages('metadata_transaction', 'publication_names', 'metadata_transaction', 'transaction_metadata', 'on', 'publication_metadata', 'on',
	'relation_metadata', 'on', 'type_metadata', 'on') m
	LEFT JOIN pg_publication p ON prefix LIKE '%.publications' AND pubname = 'metadata_transaction'
WHERE m.xid = :'last_xid' OR n <= 6 ORDER BY n;
-- A missing publication that is an error is one still.
\set VERBOSITY terse
SELECT count(*) FROM messages('metadata_transaction', 'publication_names', 'metadata_transaction, nope', 'publication_metadata', 'on', 'missing_publication', 'error');

SELECT pg_drop_replication_slot('metadata_transaction');
DROP PUBLICATION metadata_transaction, metadata_transaction_3, unnamed;
DROP SCHEMA metadata_transaction CASCADE;
