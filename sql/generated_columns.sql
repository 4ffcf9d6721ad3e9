-- Option generated_columns: stored generated columns.

SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS pgoutput_ext;
CREATE SCHEMA generated_columns;
SET search_path = generated_columns, public;
\set SHOW_CONTEXT never

CREATE FUNCTION changes(VARIADIC options text[] DEFAULT '{}') RETURNS TABLE (message text, relation text, columns text, old jsonb, new jsonb)
LANGUAGE sql AS $$
	SELECT message, replace(relation, 'generated_columns.', ''),
		(SELECT string_agg(concat(c ->> 'name', CASE WHEN (c ->> 'key')::bool THEN '*' END), ' ')
		 FROM jsonb_array_elements(detail -> 'columns') c),
		old, new
	FROM pgoutput_ext_peek('regress_generated', NULL, NULL,
		VARIADIC ARRAY['proto_version', '1', 'publication_names', 'generated_columns,generated_full'] || options)
	WHERE message NOT IN ('Begin', 'Commit') $$;
CREATE FUNCTION next() RETURNS void LANGUAGE sql AS $$
	SELECT pg_replication_slot_advance('regress_generated', pg_current_wal_lsn()) $$;

CREATE TYPE mood AS ENUM ('even', 'odd');
CREATE TABLE t (g int GENERATED ALWAYS AS (a * 2) STORED, a int PRIMARY KEY, m mood GENERATED ALWAYS AS (CASE a % 2 WHEN 0 THEN 'even'::mood ELSE 'odd'::mood END) STORED, b text);
CREATE TABLE t_full (a int PRIMARY KEY, g int GENERATED ALWAYS AS (a * 2) STORED, gone int GENERATED ALWAYS AS (a * 3) STORED, b text);
ALTER TABLE t_full DROP gone;
ALTER TABLE t_full REPLICA IDENTITY FULL;
CREATE TABLE t_plain (a int PRIMARY KEY);
CREATE PUBLICATION generated_columns FOR TABLE t, t_plain;
-- From 18 on, UPDATEs under REPLICA IDENTITY FULL need a publication that asks
-- for generated columns.
CREATE PUBLICATION generated_full FOR TABLE t_full;
DO $$
BEGIN
	IF current_setting('server_version_num')::int >= 180000 THEN
		ALTER PUBLICATION generated_full SET (publish_generated_columns = stored);
	END IF;
END $$;
SELECT FROM pg_create_logical_replication_slot('regress_generated', 'pgoutput_ext');
INSERT INTO t VALUES (DEFAULT, 1, DEFAULT, 'b');
INSERT INTO t_full VALUES (1, DEFAULT, 'b');
INSERT INTO t_plain VALUES (1);
UPDATE t SET b = 'c';
UPDATE t SET a = 2;
UPDATE t_full SET a = 2;
DELETE FROM t;
DELETE FROM t_full;

SELECT * FROM changes('exclude_tables', '*.t_full');
SELECT * FROM changes('generated_columns', 'none');
SELECT * FROM changes('generated_columns', 'stored');
SELECT * FROM changes('generated_columns', 'stored', 'exclude_columns', '*.t.m,*.t_full.g');
CREATE FUNCTION digest(VARIADIC options text[] DEFAULT '{}') RETURNS text LANGUAGE sql AS $$
	SELECT md5(string_agg(data, '' ORDER BY n)) FROM pg_logical_slot_peek_binary_changes('regress_generated', NULL, NULL,
			VARIADIC ARRAY['proto_version', '1', 'publication_names', 'generated_columns,generated_full'] || options)
		WITH ORDINALITY p (lsn, xid, data, n) $$;
SELECT digest() = digest('generated_columns', 'publication') AS publication, digest('generated_columns', 'none') = digest('generated_columns', 'stored') AS same;
-- in binary, too
SELECT encode(substr(data, 6), 'hex') FROM pg_logical_slot_peek_binary_changes('regress_generated', NULL, NULL,
	'proto_version', '1', 'publication_names', 'generated_full', 'generated_columns', 'stored', 'binary', 'on', 'include_tables', '*.t_full')
WHERE get_byte(data, 0) IN (ascii('I'), ascii('U'), ascii('D'));

-- A column that becomes generated, and one that no longer is
SELECT FROM next();
ALTER PUBLICATION generated_columns SET TABLE t_plain;
INSERT INTO t_plain VALUES (2);
ALTER TABLE t_plain ADD g text GENERATED ALWAYS AS ('x') STORED;
INSERT INTO t_plain VALUES (3);
ALTER TABLE t_plain ALTER g DROP EXPRESSION;
INSERT INTO t_plain VALUES (4, 'y');
SELECT * FROM changes('generated_columns', 'stored');
SELECT * FROM changes('generated_columns', 'none');

-- Virtual columns (18) are nowhere, whatever is asked for.
SELECT FROM next();
DO $$
BEGIN
	IF current_setting('server_version_num')::int >= 180000 THEN
		EXECUTE 'ALTER TABLE t_plain ADD v int GENERATED ALWAYS AS (a * 2)';
	END IF;
END $$;
INSERT INTO t_plain VALUES (5, 'z');
SELECT * FROM changes('generated_columns', 'stored');

-- Through a root, and a partition of its own
SELECT FROM next();
CREATE TABLE root (a int, g int GENERATED ALWAYS AS (a * 2) STORED, b int) PARTITION BY LIST (a);
CREATE TABLE leaf (b int, a int, g int GENERATED ALWAYS AS (a * 2) STORED);
ALTER TABLE root ATTACH PARTITION leaf FOR VALUES IN (1);
ALTER TABLE root REPLICA IDENTITY FULL;
ALTER TABLE leaf REPLICA IDENTITY FULL;
ALTER PUBLICATION generated_full SET TABLE root;
INSERT INTO root VALUES (1, DEFAULT, 0);
UPDATE root SET b = 1;
SELECT * FROM changes('generated_columns', 'stored');
SELECT * FROM changes('generated_columns', 'stored', 'partition_root', 'always') WHERE message <> 'Relation' OR relation = 'root';
SELECT * FROM changes('generated_columns', 'none', 'partition_root', 'always') WHERE message <> 'Relation' OR relation = 'root';

SELECT pg_drop_replication_slot('regress_generated');
DROP PUBLICATION generated_columns, generated_full;
DROP SCHEMA generated_columns CASCADE;
