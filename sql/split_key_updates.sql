-- Option split_key_updates: an UPDATE of the key as Delete and Insert.

SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS pgoutput_ext;
CREATE SCHEMA split_key_updates;
SET search_path = split_key_updates, public;
\set SHOW_CONTEXT never

CREATE FUNCTION short(value jsonb) RETURNS text LANGUAGE sql AS $$
	SELECT string_agg(key || '=' || CASE WHEN length(value) > 20 THEN left(value, 1) || ' ' || length(value) ELSE coalesce(value, 'null') END, ', ' ORDER BY key)
	FROM jsonb_each_text(value) $$;
CREATE FUNCTION changes(VARIADIC options text[] DEFAULT '{}') RETURNS TABLE (message text, relation text, old text, new text, "not sent" text)
LANGUAGE sql AS $$
	SELECT message, replace(relation, 'split_key_updates.', ''), short(old), short(new), (detail -> 'unchanged_toast')::text
	FROM pgoutput_ext_peek('regress_split', NULL, NULL,
		VARIADIC ARRAY['proto_version', '1', 'publication_names', 'split_key_updates'] || options)
	WHERE message NOT IN ('Begin', 'Commit', 'Relation') $$;
CREATE FUNCTION next() RETURNS void LANGUAGE sql AS $$
	SELECT pg_replication_slot_advance('regress_split', pg_current_wal_lsn()) $$;

CREATE TABLE t_default (a int, b int, c text, PRIMARY KEY (a, b));
CREATE TABLE t_index (a int, b int NOT NULL, c text);
CREATE UNIQUE INDEX t_index_index ON t_index (b);
ALTER TABLE t_index REPLICA IDENTITY USING INDEX t_index_index;
CREATE TABLE t_full (a int PRIMARY KEY, b int, c text);
ALTER TABLE t_full REPLICA IDENTITY FULL;
CREATE TABLE t_full_no_key (a int, b int, c text);
ALTER TABLE t_full_no_key REPLICA IDENTITY FULL;
CREATE PUBLICATION split_key_updates FOR TABLE t_default, t_index, t_full, t_full_no_key;
SELECT FROM pg_create_logical_replication_slot('regress_split', 'pgoutput_ext');
INSERT INTO t_default VALUES (1, 1, 'c');
INSERT INTO t_index VALUES (1, 1, 'c');
INSERT INTO t_full VALUES (1, 1, 'c');
INSERT INTO t_full_no_key VALUES (1, 1, 'c');
SELECT FROM next();

-- not of the key
UPDATE t_default SET c = 'd';
UPDATE t_index SET a = 2;
UPDATE t_full SET b = 2, c = NULL;
-- written again, and the same
UPDATE t_default SET a = 1;
UPDATE t_full SET a = 1;
-- of the key
UPDATE t_default SET b = 2;
UPDATE t_default SET a = 3, b = 3, c = 'e';
UPDATE t_index SET b = 2, c = NULL;
UPDATE t_full SET a = 2;
-- no key to speak of
UPDATE t_full_no_key SET a = 2, b = 2, c = 'd';
SELECT * FROM changes();
SELECT * FROM changes('split_key_updates', 'on');
SELECT * FROM changes('split_key_updates', 'on', 'exclude_columns', '*.t_full.a', 'include_tables', '*.t_full');

-- Values that are not in WAL: nothing is lost to a split.
SELECT FROM next();
ALTER TABLE t_default ALTER c SET STORAGE EXTERNAL;
ALTER TABLE t_full ALTER c SET STORAGE EXTERNAL;
UPDATE t_default SET c = repeat('x', 3000);
UPDATE t_full SET c = repeat('x', 3000);
UPDATE t_default SET a = 4;
UPDATE t_full SET a = 3;
UPDATE t_default SET a = 5, c = repeat('y', 3000);
SELECT * FROM changes('split_key_updates', 'on');
SELECT * FROM changes('split_key_updates', 'on', 'unchanged_toast', 'fill');
SELECT * FROM changes('split_key_updates', 'on', 'unchanged_toast', 'error', 'include_tables', '*.t_full');
SELECT * FROM changes('split_key_updates', 'on', 'unchanged_toast', 'error', 'include_tables', '*.t_default');
-- what is not sent does not count
SELECT * FROM changes('split_key_updates', 'on', 'unchanged_toast', 'error', 'include_tables', '*.t_default', 'exclude_columns', '*.*.c');

-- A key that is out of line itself, unchanged and changed
SELECT FROM next();
CREATE TABLE t_key (k text PRIMARY KEY, b int);
ALTER TABLE t_key ALTER k SET STORAGE EXTERNAL;
ALTER PUBLICATION split_key_updates ADD TABLE t_key;
INSERT INTO t_key VALUES (repeat('k', 2500), 0);
UPDATE t_key SET b = 1;
UPDATE t_key SET k = repeat('l', 2500);
UPDATE t_key SET k = 'm';
SELECT * FROM changes();
SELECT * FROM changes('split_key_updates', 'on');

-- Through a root; a row that moves is two changes anyway
SELECT FROM next();
CREATE TABLE t_moved (a int PRIMARY KEY, b int) PARTITION BY RANGE (a);
CREATE TABLE t_low PARTITION OF t_moved FOR VALUES FROM (0) TO (10);
CREATE TABLE t_high PARTITION OF t_moved FOR VALUES FROM (10) TO (100);
ALTER PUBLICATION split_key_updates SET TABLE t_moved;
ALTER TABLE t_high REPLICA IDENTITY FULL;
INSERT INTO t_moved VALUES (1, 1);
UPDATE t_moved SET a = 2;
UPDATE t_moved SET a = 10;
UPDATE t_moved SET a = 11;
UPDATE t_moved SET b = 2;
SELECT * FROM changes('split_key_updates', 'on', 'partition_root', 'always');
-- a leaf that does not log the root's key does not split by it
ALTER TABLE t_high ALTER b SET NOT NULL;
CREATE UNIQUE INDEX t_high_index ON t_high (b);
ALTER TABLE t_high REPLICA IDENTITY USING INDEX t_high_index;
SELECT FROM next();
UPDATE t_moved SET a = 12, b = 3;
SELECT * FROM changes('split_key_updates', 'on', 'partition_root', 'always');
SELECT * FROM changes('split_key_updates', 'on');
-- actions are the publication's, and an UPDATE is published as one
ALTER PUBLICATION split_key_updates SET (publish = 'update');
SELECT FROM next();
UPDATE t_moved SET a = 13, b = 4;
SELECT * FROM changes('split_key_updates', 'on');

-- A deferrable key can be double for a moment: with FULL, a Delete by key would find the
-- wrong row. It is not split by.
SELECT FROM next();
CREATE TABLE t_deferrable (a int PRIMARY KEY DEFERRABLE, x int);
ALTER TABLE t_deferrable REPLICA IDENTITY FULL;
ALTER PUBLICATION split_key_updates SET TABLE t_deferrable;
ALTER PUBLICATION split_key_updates SET (publish = 'insert, update, delete, truncate');
INSERT INTO t_deferrable VALUES (1, 10), (2, 20);
UPDATE t_deferrable SET a = a + 1;
SELECT * FROM changes('split_key_updates', 'on');

SELECT pg_drop_replication_slot('regress_split');
DROP PUBLICATION split_key_updates;
DROP SCHEMA split_key_updates CASCADE;
