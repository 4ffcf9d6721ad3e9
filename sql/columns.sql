-- Option exclude_columns.

SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS pgoutput_ext;
CREATE SCHEMA columns;
SET search_path = columns, public;
\set SHOW_CONTEXT never

-- What is sent; a Relation with its columns, those of the key with a star
CREATE FUNCTION changes(VARIADIC options text[] DEFAULT '{}') RETURNS TABLE (message text, relation text, columns text, old jsonb, new jsonb)
LANGUAGE sql AS $$
	SELECT message, relation,
		(SELECT string_agg(concat(c ->> 'name', CASE WHEN (c ->> 'key')::bool THEN '*' END), ' ')
		 FROM jsonb_array_elements(detail -> 'columns') c),
		old, new
	FROM pgoutput_ext_peek('regress_columns', NULL, NULL,
		VARIADIC ARRAY['proto_version', '1', 'publication_names', 'columns'] || options)
	WHERE message NOT IN ('Begin', 'Commit') $$;

CREATE TYPE mood AS ENUM ('sad', 'happy');
CREATE TABLE t (a int PRIMARY KEY, secret text, b mood, "Secret" text);
CREATE TABLE u (a int PRIMARY KEY, secret text, b mood);
ALTER TABLE u REPLICA IDENTITY FULL;
CREATE PUBLICATION columns FOR TABLE t, u;
SELECT FROM pg_create_logical_replication_slot('regress_columns', 'pgoutput_ext');
INSERT INTO t VALUES (1, 'x', 'sad', 'y');
INSERT INTO u VALUES (1, 'x', 'sad');
UPDATE t SET b = 'happy';
UPDATE t SET a = 2;
UPDATE u SET a = 2;
DELETE FROM t;
DELETE FROM u;

SELECT * FROM changes();
SELECT * FROM changes('exclude_columns', 'columns.t.secret');
-- under REPLICA IDENTITY FULL out of both tuples
SELECT * FROM changes('exclude_columns', '*.*.secret');
-- no Type message either, of a type that nothing is sent of
SELECT * FROM changes('exclude_columns', '*.*.b, *.t."Secret"');
SELECT * FROM changes('exclude_columns', 'columns.u.*', 'exclude_tables', '*.t');
SELECT * FROM changes('exclude_columns', 'public.t.*, columns.x.*, *.*.x, columns.t."SECRET"');

-- A part of the replica identity cannot be left out while UPDATEs or DELETEs
-- are published: nothing of that relation is sent.
SELECT * FROM changes('exclude_columns', '*.t.a');
\echo :SQLSTATE
SELECT * FROM changes('exclude_columns', '*.t.a', 'exclude_tables', '*.t');
SELECT * FROM changes('exclude_columns', '*.u.a', 'exclude_tables', '*.t');
ALTER PUBLICATION columns SET (publish = 'insert, truncate');
INSERT INTO t VALUES (3, 'x3', 'sad', 'y');
SELECT FROM pg_replication_slot_advance('regress_columns', pg_current_wal_lsn());
INSERT INTO t VALUES (4, 'x4', 'sad', 'y');
SELECT * FROM changes('exclude_columns', '*.t.a');
ALTER PUBLICATION columns SET (publish = 'insert, delete');
INSERT INTO t VALUES (5, 'x5', 'sad', 'y');
SELECT * FROM changes('exclude_columns', '*.t.a');
-- what came before it is sent
SELECT count(*) FROM pg_logical_slot_peek_binary_changes('regress_columns', NULL, 3,
	'proto_version', '1', 'publication_names', 'columns', 'exclude_columns', '*.t.a');
-- an identity that is an index
ALTER TABLE t ALTER secret SET NOT NULL;
CREATE UNIQUE INDEX t_index ON t (secret);
ALTER TABLE t REPLICA IDENTITY USING INDEX t_index;
SELECT FROM pg_replication_slot_advance('regress_columns', pg_current_wal_lsn());
DELETE FROM t WHERE a = 3;
INSERT INTO t VALUES (6, 'z', 'sad', 'y');
SELECT * FROM changes('exclude_columns', '*.t.a');
SELECT * FROM changes('exclude_columns', '*.t.secret');
-- none
DELETE FROM t;
ALTER TABLE t REPLICA IDENTITY NOTHING;
SELECT FROM pg_replication_slot_advance('regress_columns', pg_current_wal_lsn());
INSERT INTO t VALUES (7, 'z', 'sad', 'y');
SELECT * FROM changes('exclude_columns', '*.t.secret,*.t.a');
-- changed on the way: the error comes when it counts
ALTER TABLE t REPLICA IDENTITY DEFAULT;
INSERT INTO t VALUES (8, 'zz', 'sad', 'y');
SELECT * FROM changes('exclude_columns', '*.t.secret');
SELECT * FROM changes('exclude_columns', '*.t.a');
SELECT new FROM pgoutput_ext_peek('regress_columns', NULL, 1,
	'proto_version', '1', 'publication_names', 'columns', 'exclude_columns', '*.t.a') WHERE message = 'Insert';

-- Columns that come later, change their name or go
SELECT FROM pg_replication_slot_advance('regress_columns', pg_current_wal_lsn());
CREATE TABLE v (a int PRIMARY KEY);
ALTER PUBLICATION columns ADD TABLE v;
INSERT INTO v VALUES (1);
ALTER TABLE v ADD secret text DEFAULT 'x';
INSERT INTO v VALUES (2);
ALTER TABLE v RENAME secret TO open;
INSERT INTO v VALUES (3);
ALTER TABLE v ADD secret text DEFAULT 'y';
INSERT INTO v VALUES (4);
ALTER TABLE v DROP open;
INSERT INTO v VALUES (5);
ALTER TABLE v RENAME TO w;
INSERT INTO w VALUES (6);
SELECT * FROM changes('exclude_columns', 'columns.v.secret');

-- Partitions: the name is that of the relation announced
SELECT FROM pg_replication_slot_advance('regress_columns', pg_current_wal_lsn());
CREATE TABLE root (a int PRIMARY KEY, secret text, b int) PARTITION BY LIST (a);
CREATE TABLE leaf (b int, gone int, secret text, a int NOT NULL);
ALTER TABLE leaf DROP gone;
ALTER TABLE root ATTACH PARTITION leaf FOR VALUES IN (1);
ALTER PUBLICATION columns SET (publish = 'insert, update, delete');
ALTER PUBLICATION columns SET TABLE root;
INSERT INTO root VALUES (1, 'x', 2);
UPDATE root SET b = 3;
SELECT * FROM changes('exclude_columns', '*.root.secret');
SELECT * FROM changes('exclude_columns', '*.leaf.secret');
SELECT * FROM changes('exclude_columns', '*.root.secret', 'partition_root', 'always');
SELECT * FROM changes('exclude_columns', '*.leaf.secret', 'partition_root', 'always');
SELECT * FROM changes('exclude_columns', '*.root.a', 'partition_root', 'always');
ALTER TABLE root RENAME secret TO open;
INSERT INTO root VALUES (1, 'x', 2) ON CONFLICT DO NOTHING;
DELETE FROM root;
INSERT INTO root VALUES (1, 'y', 3);
SELECT message, relation, columns, new FROM changes('exclude_columns', '*.root.secret', 'partition_root', 'always');

SELECT pg_drop_replication_slot('regress_columns');
DROP PUBLICATION columns;
DROP SCHEMA columns CASCADE;
