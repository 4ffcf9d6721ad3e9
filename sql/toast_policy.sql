-- Option unchanged_toast: an UPDATE's unchanged out-of-line values.

SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS pgoutput_ext;
CREATE SCHEMA toast_policy;
SET search_path = toast_policy, public;
\set SHOW_CONTEXT never

-- Values as "x 3000", what is not sent as "not sent".
CREATE FUNCTION short(value jsonb, detail jsonb) RETURNS text LANGUAGE sql AS $$
	SELECT string_agg(key || '=' || CASE WHEN length(v) > 20 THEN left(v, 1) || ' ' || length(v) ELSE coalesce(v, 'null') END, ', ' ORDER BY key)
	FROM (SELECT key, value FROM jsonb_each_text(value)
		  UNION ALL SELECT jsonb_array_elements_text(detail -> 'unchanged_toast'), 'not sent') c (key, v) $$;
CREATE FUNCTION changes(slot name, VARIADIC options text[] DEFAULT '{}') RETURNS TABLE (message text, relation text, old text, new text)
LANGUAGE sql AS $$
	SELECT message, relation, short(old, NULL), short(new, detail)
	FROM pgoutput_ext_peek(slot, NULL, NULL, VARIADIC ARRAY['proto_version', '1', 'publication_names', 'toast_policy'] || options)
	WHERE message IN ('Insert', 'Update', 'Delete') $$;

-- One table for each replica identity. Values are stored out of line when they
-- have 3000 bytes and are not compressed.
CREATE TABLE t_default (a int PRIMARY KEY, b text, c text, d int);
CREATE TABLE t_full (a int PRIMARY KEY, b text, c text, d int);
CREATE TABLE t_key (a int, b text NOT NULL, c text, d int);
CREATE TABLE t_nothing (a int, b text, c text, d int);
DO $$
DECLARE
	name text;
BEGIN
	FOREACH name IN ARRAY ARRAY['t_default', 't_full', 't_key', 't_nothing'] LOOP
		EXECUTE format('ALTER TABLE %I ALTER b SET STORAGE EXTERNAL, ALTER c SET STORAGE EXTERNAL', name);
	END LOOP;
END $$;
ALTER TABLE t_full REPLICA IDENTITY FULL;
-- an index takes 2700 bytes at most
CREATE UNIQUE INDEX t_key_index ON t_key (b);
ALTER TABLE t_key REPLICA IDENTITY USING INDEX t_key_index;
ALTER TABLE t_nothing REPLICA IDENTITY NOTHING;
CREATE PUBLICATION toast_policy FOR TABLE t_default, t_full, t_key;
CREATE PUBLICATION toast_policy_inserts FOR TABLE t_nothing;
SELECT FROM pg_create_logical_replication_slot('regress_toast_policy', 'pgoutput_ext');

INSERT INTO t_default VALUES (1, repeat('x', 3000), repeat('y', 3000), 0);
INSERT INTO t_full VALUES (1, repeat('x', 3000), repeat('y', 3000), 0);
INSERT INTO t_key VALUES (1, repeat('x', 2600), repeat('y', 3000), 0);
-- neither is changed
UPDATE t_default SET d = 1;
UPDATE t_full SET d = 1;
UPDATE t_key SET d = 1;
-- one is
UPDATE t_default SET b = repeat('z', 3000);
UPDATE t_full SET b = repeat('z', 3000);
UPDATE t_key SET b = repeat('z', 2600);
-- the key is, and neither value
UPDATE t_default SET a = 2;
UPDATE t_full SET a = 2;
-- null and short values are whole
UPDATE t_default SET b = NULL, c = 'c';
UPDATE t_full SET b = NULL, c = 'c';
UPDATE t_default SET d = 2;
UPDATE t_full SET d = 2;

SELECT * FROM changes('regress_toast_policy');
SELECT * FROM changes('regress_toast_policy', 'unchanged_toast', 'fill');
-- fill does to no bytes but "u" anything
CREATE TEMPORARY TABLE marker AS SELECT row_number() OVER (), * FROM changes('regress_toast_policy', 'unchanged_toast', 'marker');
CREATE TEMPORARY TABLE fill AS SELECT row_number() OVER (), * FROM changes('regress_toast_policy', 'unchanged_toast', 'fill');
SELECT relation, marker.new AS marker, fill.new AS fill
FROM marker JOIN fill USING (row_number, message, relation) WHERE (marker.old, marker.new) IS DISTINCT FROM (fill.old, fill.new);
SELECT count(*) FROM marker FULL JOIN fill USING (row_number, message, relation) WHERE marker IS NULL OR fill IS NULL;

-- error: whatever "u" would be sent for
SELECT * FROM changes('regress_toast_policy', 'unchanged_toast', 'error');
\echo :SQLSTATE
SELECT * FROM changes('regress_toast_policy', 'unchanged_toast', 'error', 'include_tables', 'toast_policy.t_full');
SELECT * FROM changes('regress_toast_policy', 'unchanged_toast', 'error', 'include_tables', 'toast_policy.t_key');
-- but not for what is not sent
SELECT message, new FROM changes('regress_toast_policy', 'unchanged_toast', 'error', 'exclude_columns', '*.*.b,*.*.c', 'include_tables', 'toast_policy.t_default');

-- binary
SELECT message, relation, length(new ->> 'b') AS b, length(new ->> 'c') AS c, detail -> 'unchanged_toast' AS unchanged
FROM pgoutput_ext_peek('regress_toast_policy', NULL, NULL,
	'proto_version', '1', 'publication_names', 'toast_policy', 'binary', 'on', 'unchanged_toast', 'fill', 'include_tables', '*.t_full')
WHERE message = 'Update';

-- columns through a partition's root, in another order there
SELECT FROM pg_replication_slot_advance('regress_toast_policy', pg_current_wal_lsn());
CREATE TABLE root (a int, b text, c text, d int) PARTITION BY LIST (a);
CREATE TABLE leaf (c text, gone int, d int, a int, b text);
ALTER TABLE leaf DROP gone;
ALTER TABLE leaf ALTER b SET STORAGE EXTERNAL, ALTER c SET STORAGE EXTERNAL, REPLICA IDENTITY FULL;
ALTER TABLE root ATTACH PARTITION leaf FOR VALUES IN (1);
ALTER TABLE root REPLICA IDENTITY FULL;
ALTER PUBLICATION toast_policy SET (publish_via_partition_root);
ALTER PUBLICATION toast_policy SET TABLE root;
INSERT INTO root VALUES (1, repeat('x', 3000), repeat('y', 3000), 0);
UPDATE root SET d = 1;
UPDATE root SET d = 2;
UPDATE root SET d = 0;
SELECT * FROM changes('regress_toast_policy');
SELECT * FROM changes('regress_toast_policy', 'unchanged_toast', 'fill');
SELECT * FROM changes('regress_toast_policy', 'unchanged_toast', 'fill', 'partition_root', 'never');
SELECT * FROM changes('regress_toast_policy', 'unchanged_toast', 'fill', 'exclude_columns', '*.*.b');
SELECT * FROM changes('regress_toast_policy', 'unchanged_toast', 'error');

SELECT pg_drop_replication_slot('regress_toast_policy');
DROP PUBLICATION toast_policy, toast_policy_inserts;
DROP SCHEMA toast_policy CASCADE;
