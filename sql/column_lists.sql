-- Options together with column lists: they narrow a list, and never widen it.

SET client_min_messages = warning;
SELECT current_setting('server_version_num')::int < 150000 AS old \gset
\if :old
\echo PostgreSQL 14 has no column lists.
\quit
\endif
CREATE EXTENSION IF NOT EXISTS pgoutput_ext;
CREATE SCHEMA column_lists;
SET search_path = column_lists, public;
\set SHOW_CONTEXT never

-- What is sent; a Relation with its columns, those of the key with a star
CREATE FUNCTION changes(VARIADIC options text[] DEFAULT '{}') RETURNS TABLE (message text, relation text, columns text, old jsonb, new jsonb)
LANGUAGE sql AS $$
	SELECT message, replace(relation, 'column_lists.', ''),
		(SELECT string_agg(concat(c ->> 'name', CASE WHEN (c ->> 'key')::bool THEN '*' END), ' ')
		 FROM jsonb_array_elements(detail -> 'columns') c),
		old, new
	FROM pgoutput_ext_peek('regress_column_lists', NULL, NULL,
		VARIADIC ARRAY['proto_version', '1', 'publication_names', 'column_lists,column_lists_full'] || options)
	WHERE message NOT IN ('Begin', 'Commit') $$;
CREATE FUNCTION next() RETURNS void LANGUAGE sql AS $$
	SELECT pg_replication_slot_advance('regress_column_lists', pg_current_wal_lsn()) $$;

CREATE PUBLICATION column_lists WITH (publish = 'insert, update, delete');
CREATE PUBLICATION column_lists_full;
SELECT FROM pg_create_logical_replication_slot('regress_column_lists', 'pgoutput_ext');

-- exclude_columns, and a row filter on what is not sent
CREATE TYPE mood AS ENUM ('sad', 'happy');
CREATE TABLE t (a int PRIMARY KEY, secret text, b mood, "Secret" text);
ALTER PUBLICATION column_lists SET TABLE t (a, b, "Secret") WHERE (a > 10);
INSERT INTO t VALUES (10, 'a', 'sad', 'y'), (11, 'b', 'happy', 'y');
UPDATE t SET b = 'sad';
SELECT * FROM changes('exclude_columns', '*.*.secret');
SELECT * FROM changes('exclude_columns', '*.*."Secret"');
ALTER PUBLICATION column_lists SET TABLE t (a, b);
SELECT * FROM changes('exclude_columns', 'column_lists.t.b');

-- generated_columns: before 18 no list can name a generated column, and none is
-- sent.
CREATE TABLE g (g int GENERATED ALWAYS AS (a * 2) STORED, a int PRIMARY KEY, b text);
CREATE TABLE g_full (a int PRIMARY KEY, g int GENERATED ALWAYS AS (a * 2) STORED, b text);
ALTER TABLE g_full REPLICA IDENTITY FULL;
ALTER PUBLICATION column_lists SET TABLE g (a, b);
SELECT FROM next();
INSERT INTO g VALUES (DEFAULT, 3, 'b');
SELECT * FROM changes('generated_columns', 'stored');
-- and one that names it, from 18 on, is overruled
ALTER PUBLICATION column_lists_full SET TABLE g_full;
DO $$
BEGIN
	IF current_setting('server_version_num')::int >= 180000 THEN
		ALTER PUBLICATION column_lists SET TABLE g (a, g);
		ALTER PUBLICATION column_lists_full SET (publish_generated_columns = stored);
	END IF;
END $$;
SELECT FROM next();
INSERT INTO g VALUES (DEFAULT, 4, 'b');
INSERT INTO g_full VALUES (4, DEFAULT, 'b');
UPDATE g_full SET a = 5;
SELECT message, relation, columns - 'b', new - 'b' AS new FROM (
	SELECT message, relation, to_jsonb(string_to_array(columns, ' ')), new FROM changes('generated_columns', 'none')) c (message, relation, columns, new);
SELECT * FROM changes('generated_columns', 'none') WHERE relation = 'g_full';
SELECT * FROM changes('generated_columns', 'stored') WHERE relation = 'g_full';

-- relation_metadata: columns that are not sent are not told of; a key that lacks
-- some is none.
CREATE TABLE key_order (a int, b int, c int, d int, PRIMARY KEY (c, a) INCLUDE (d));
CREATE TABLE identity_index (a int NOT NULL, b int PRIMARY KEY);
CREATE UNIQUE INDEX other ON identity_index (a);
ALTER TABLE identity_index REPLICA IDENTITY USING INDEX other;
ALTER PUBLICATION column_lists SET (publish = 'insert');
ALTER PUBLICATION column_lists SET TABLE key_order (c, b), identity_index (b), g (b, a);
SELECT FROM next();
INSERT INTO key_order VALUES (4, 5, 6);
INSERT INTO identity_index VALUES (4, 5);
INSERT INTO g (a) VALUES (5);
SELECT frame ->> 'name' AS name, frame -> 'primary_key' AS key, jsonb_path_query_array(frame, '$.columns[*].name') AS columns
FROM pgoutput_ext_peek('regress_column_lists', NULL, NULL, 'proto_version', '1', 'publication_names', 'column_lists', 'relation_metadata', 'on')
		WITH ORDINALITY p (lsn, xid, message, relation, old, new, detail, n),
	LATERAL (SELECT detail -> 'content') f (frame)
WHERE message = 'Message' ORDER BY n;

-- pgoutput_ext_check: a key that is not published, and lists that differ
CREATE TABLE good (id int PRIMARY KEY, v int);
CREATE PUBLICATION column_lists_no_key FOR TABLE good (v);
CREATE PUBLICATION column_lists_key FOR TABLE good (id);
CREATE PUBLICATION column_lists_none FOR TABLE good;
\pset format unaligned
SELECT * FROM pgoutput_ext_check('regress_column_lists', '{column_lists_no_key}') WHERE object LIKE 'table%';
SELECT * FROM pgoutput_ext_check('regress_column_lists', '{column_lists_key,column_lists_none}') WHERE object LIKE 'table%';
\pset format aligned

SELECT pg_drop_replication_slot('regress_column_lists');
DROP PUBLICATION column_lists, column_lists_full, column_lists_no_key, column_lists_key, column_lists_none;
DROP SCHEMA column_lists CASCADE;
