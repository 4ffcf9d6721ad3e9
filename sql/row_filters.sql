-- Options together with row filters, which see the whole row, under the name that
-- the publication gives it.

SET client_min_messages = warning;
SELECT current_setting('server_version_num')::int < 150000 AS old \gset
\if :old
\echo PostgreSQL 14 has no row filters.
\quit
\endif
CREATE EXTENSION IF NOT EXISTS pgoutput_ext;
CREATE SCHEMA row_filters;
SET search_path = row_filters, public;
\set SHOW_CONTEXT never

-- Values as "x 3000", what is not sent as "not sent".
CREATE FUNCTION short(value jsonb, detail jsonb) RETURNS text LANGUAGE sql AS $$
	SELECT string_agg(key || '=' || CASE WHEN length(v) > 20 THEN left(v, 1) || ' ' || length(v) ELSE coalesce(v, 'null') END, ', ' ORDER BY key)
	FROM (SELECT key, value FROM jsonb_each_text(value)
		  UNION ALL SELECT jsonb_array_elements_text(detail -> 'unchanged_toast'), 'not sent') c (key, v) $$;
CREATE FUNCTION changes(publications text, VARIADIC options text[] DEFAULT '{}') RETURNS TABLE (message text, relation text, columns text, old text, new text)
LANGUAGE sql AS $$
	SELECT message, replace(relation, 'row_filters.', ''),
		(SELECT string_agg(concat(c ->> 'name', CASE WHEN (c ->> 'key')::bool THEN '*' END), ' ')
		 FROM jsonb_array_elements(detail -> 'columns') c),
		short(old, NULL), short(new, detail)
	FROM pgoutput_ext_peek('regress_row_filters', NULL, NULL,
		VARIADIC ARRAY['proto_version', '1', 'publication_names', publications] || options)
	WHERE message NOT IN ('Begin', 'Commit') $$;
CREATE FUNCTION next() RETURNS void LANGUAGE sql AS $$
	SELECT pg_replication_slot_advance('regress_row_filters', pg_current_wal_lsn()) $$;

CREATE TABLE t (a int PRIMARY KEY);
CREATE PUBLICATION row_filters FOR TABLE t WHERE (a BETWEEN 10 AND 20);
SELECT FROM pg_create_logical_replication_slot('regress_row_filters', 'pgoutput_ext');

-- split_key_updates: a filter makes one Insert or Delete of an UPDATE, or leaves it one.
INSERT INTO t VALUES (9);
UPDATE t SET a = 10;
UPDATE t SET a = 11;
UPDATE t SET a = 21;
UPDATE t SET a = 22;
SELECT * FROM changes('row_filters');
SELECT * FROM changes('row_filters', 'split_key_updates', 'on');

-- empty_transactions: one of which the filter leaves nothing is empty.
SELECT string_agg(message, ' ' ORDER BY n)
FROM pgoutput_ext_peek('regress_row_filters', NULL, NULL, 'proto_version', '1', 'publication_names', 'row_filters', 'empty_transactions', 'send')
	WITH ORDINALITY p (lsn, xid, message, relation, old, new, detail, n);

-- unchanged_toast: columns through a partition's root, in another order there; an
-- UPDATE that a filter makes an Insert of sends what it found in the old row.
CREATE TABLE toasted (a int, b text, c text, d int) PARTITION BY LIST (a);
CREATE TABLE toasted_leaf (c text, gone int, d int, a int, b text);
ALTER TABLE toasted_leaf DROP gone;
ALTER TABLE toasted_leaf ALTER b SET STORAGE EXTERNAL, ALTER c SET STORAGE EXTERNAL, REPLICA IDENTITY FULL;
ALTER TABLE toasted ATTACH PARTITION toasted_leaf FOR VALUES IN (1);
ALTER TABLE toasted REPLICA IDENTITY FULL;
CREATE PUBLICATION row_filters_toast FOR TABLE toasted WHERE (d > 0) WITH (publish_via_partition_root);
SELECT FROM next();
INSERT INTO toasted VALUES (1, repeat('x', 3000), repeat('y', 3000), 0);
UPDATE toasted SET d = 1;
UPDATE toasted SET d = 2;
UPDATE toasted SET d = 0;
SELECT * FROM changes('row_filters_toast') WHERE message <> 'Relation';
SELECT * FROM changes('row_filters_toast', 'unchanged_toast', 'fill') WHERE message <> 'Relation';
SELECT * FROM changes('row_filters_toast', 'unchanged_toast', 'fill', 'partition_root', 'never') WHERE message <> 'Relation';
SELECT * FROM changes('row_filters_toast', 'unchanged_toast', 'fill', 'exclude_columns', '*.*.b') WHERE message <> 'Relation';
SELECT * FROM changes('row_filters_toast', 'unchanged_toast', 'error');

-- partition_root: a row filter and a column list are those of the publication,
-- whatever name the rows go by: with publish_via_partition_root those of the root,
-- else those of the partition.
CREATE TABLE root (a int NOT NULL, b int, c text) PARTITION BY RANGE (a);
CREATE TABLE middle (c text, gone int, a int NOT NULL, b int) PARTITION BY RANGE (a);
ALTER TABLE middle DROP gone;
CREATE TABLE leaf (b int, c text, a int NOT NULL);
CREATE TABLE low (a int NOT NULL, b int, c text);
ALTER TABLE middle ATTACH PARTITION leaf FOR VALUES FROM (10) TO (20);
ALTER TABLE root ATTACH PARTITION middle FOR VALUES FROM (10) TO (30);
ALTER TABLE root ATTACH PARTITION low FOR VALUES FROM (0) TO (10);
ALTER TABLE root ADD PRIMARY KEY (a);
CREATE PUBLICATION row_filters_root FOR TABLE root (a, c) WHERE (a <> 11) WITH (publish_via_partition_root);
CREATE PUBLICATION row_filters_truncate FOR TABLE root WITH (publish = 'truncate');
CREATE PUBLICATION row_filters_leaf FOR TABLE leaf (b, a) WHERE (a <> 12);
SELECT FROM next();
INSERT INTO root VALUES (1, 0, 'low'), (11, 0, 'eleven'), (12, 0, 'twelve');
UPDATE root SET c = c || '!';
UPDATE root SET a = 14 WHERE a = 12;
UPDATE root SET a = 12 WHERE a = 11 AND b = 0;
DELETE FROM root;
SELECT * FROM changes('row_filters_root');
SELECT * FROM changes('row_filters_root', 'partition_root', 'never');
SELECT * FROM changes('row_filters_leaf');
SELECT * FROM changes('row_filters_leaf', 'partition_root', 'never');
-- the leaf's filter and list, the root's name
ALTER PUBLICATION row_filters_leaf SET TABLE leaf WHERE (a <> 12);
SELECT FROM next();
INSERT INTO root VALUES (1, 0, 'low'), (11, 0, 'eleven'), (12, 0, 'twelve');
UPDATE root SET b = b + 1;
DELETE FROM root;
SELECT * FROM changes('row_filters_leaf,row_filters_truncate');
SELECT * FROM changes('row_filters_leaf,row_filters_truncate', 'partition_root', 'always');
SELECT * FROM changes('row_filters_leaf,row_filters_truncate', 'partition_root', 'always', 'exclude_columns', '*.root.b');
ALTER PUBLICATION row_filters_leaf SET TABLE leaf (b, a) WHERE (a <> 12);
SELECT FROM next();
INSERT INTO root VALUES (1, 0, 'low'), (11, 0, 'eleven'), (12, 0, 'twelve');
DELETE FROM root;
-- lists that differ end in the server's error, whatever the name
SELECT * FROM changes('row_filters_leaf,row_filters_truncate', 'partition_root', 'always', 'include_tables', '*.root');
\echo :SQLSTATE
-- changes of the tree, and of the names in it
SELECT FROM next();
BEGIN;
ALTER TABLE root RENAME TO root2;
INSERT INTO leaf VALUES (0, 'two', 12);
ALTER TABLE root2 DETACH PARTITION middle;
INSERT INTO leaf VALUES (0, 'three', 13);
ALTER TABLE root2 RENAME TO root;
ALTER TABLE root ATTACH PARTITION middle FOR VALUES FROM (10) TO (30);
ALTER TABLE root ADD d int;
INSERT INTO leaf VALUES (0, 'four', 14, 5);
COMMIT;
ALTER TABLE root RENAME b TO bb;
INSERT INTO leaf VALUES (0, 'five', 15, 5), (0, 'eleven', 11, 5);
SELECT message, relation, columns, new FROM changes('row_filters_root', 'partition_root', 'never');

SELECT pg_drop_replication_slot('regress_row_filters');
DROP PUBLICATION row_filters, row_filters_toast, row_filters_root, row_filters_truncate, row_filters_leaf;
DROP SCHEMA row_filters CASCADE;
