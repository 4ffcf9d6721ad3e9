-- Option partition_root: the relation that a partition's changes are announced
-- as. Which rows and columns are sent stays what the publications say.

SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS pgoutput_ext;
CREATE SCHEMA partition_root;
SET search_path = partition_root, public;
\set SHOW_CONTEXT never

CREATE FUNCTION changes(publications text, VARIADIC options text[] DEFAULT '{}') RETURNS TABLE (message text, relation text, columns text, old jsonb, new jsonb)
LANGUAGE sql AS $$
	SELECT message, replace(relation, 'partition_root.', ''),
		(SELECT string_agg(concat(c ->> 'name', CASE WHEN (c ->> 'key')::bool THEN '*' END), ' ')
		 FROM jsonb_array_elements(detail -> 'columns') c),
		old, new
	FROM pgoutput_ext_peek('regress_partition_root', NULL, NULL,
		VARIADIC ARRAY['proto_version', '1', 'publication_names', publications] || options)
	WHERE message NOT IN ('Begin', 'Commit') $$;
CREATE FUNCTION next() RETURNS void LANGUAGE sql AS $$
	SELECT pg_replication_slot_advance('regress_partition_root', pg_current_wal_lsn()) $$;

-- three levels, each with its columns in another order
CREATE TABLE root (a int NOT NULL, b int, c text) PARTITION BY RANGE (a);
CREATE TABLE middle (c text, gone int, a int NOT NULL, b int) PARTITION BY RANGE (a);
ALTER TABLE middle DROP gone;
CREATE TABLE leaf (b int, c text, a int NOT NULL);
CREATE TABLE low (a int NOT NULL, b int, c text);
ALTER TABLE middle ATTACH PARTITION leaf FOR VALUES FROM (10) TO (20);
ALTER TABLE root ATTACH PARTITION middle FOR VALUES FROM (10) TO (30);
ALTER TABLE root ATTACH PARTITION low FOR VALUES FROM (0) TO (10);
ALTER TABLE root ADD PRIMARY KEY (a);

CREATE PUBLICATION pr_root FOR TABLE root;
CREATE PUBLICATION pr_root_via FOR TABLE root WITH (publish_via_partition_root);
CREATE PUBLICATION pr_middle FOR TABLE middle;
CREATE PUBLICATION pr_middle_via FOR TABLE middle WITH (publish_via_partition_root);
CREATE PUBLICATION pr_leaf FOR TABLE leaf;
CREATE PUBLICATION pr_leaf_via FOR TABLE leaf WITH (publish_via_partition_root);
CREATE PUBLICATION pr_all FOR ALL TABLES WITH (publish = 'insert');
SELECT FROM pg_create_logical_replication_slot('regress_partition_root', 'pgoutput_ext');
INSERT INTO root VALUES (1, 0, 'low'), (11, 0, 'leaf');
UPDATE root SET b = 1;
UPDATE root SET a = 12 WHERE a = 11;
-- moves a row
UPDATE root SET a = 13 WHERE a = 1;
DELETE FROM root;

SELECT * FROM changes('pr_root');
SELECT * FROM changes('pr_root', 'partition_root', 'always');
SELECT * FROM changes('pr_root_via');
SELECT * FROM changes('pr_root_via', 'partition_root', 'never');

-- "always" gives the bytes of publish_via_partition_root, "never" those
-- without it.
CREATE FUNCTION bytes(publications text, VARIADIC options text[] DEFAULT '{}') RETURNS SETOF bytea LANGUAGE sql AS $$
	SELECT data FROM pg_logical_slot_peek_binary_changes('regress_partition_root', NULL, NULL,
		VARIADIC ARRAY['proto_version', '1', 'publication_names', publications] || options) $$;
CREATE FUNCTION same(publications text, options text[], publications2 text) RETURNS text LANGUAGE sql AS $$
	SELECT CASE WHEN one IS NOT DISTINCT FROM two THEN 'same' ELSE 'not same' END
	FROM (SELECT array_agg(b) FROM bytes(publications, VARIADIC options) b) x (one),
		 (SELECT array_agg(b) FROM bytes(publications2) b) y (two) $$;
SELECT p, same(p, '{partition_root,always}', p || '_via') AS always, same(p || '_via', '{partition_root,never}', p) AS never,
	same(p, '{partition_root,publication}', p) AS publication, same(p || '_via', '{partition_root,always}', p || '_via') AS always_via,
	same(p, '{partition_root,never}', p) AS never_not_via, same(p, '{}', p || '_via') AS differ
FROM unnest(ARRAY['pr_root', 'pr_middle', 'pr_leaf']) p;

-- the topmost ancestor that any publication has
CREATE FUNCTION names(publications text, VARIADIC options text[] DEFAULT '{}') RETURNS text LANGUAGE sql AS $$
	SELECT string_agg(relation, ' ' ORDER BY relation) FROM (SELECT DISTINCT relation FROM changes(publications, VARIADIC options)
		WHERE message NOT IN ('Relation', 'Type')) r $$;
SELECT p, names(p), names(p, 'partition_root', 'always') AS always, names(p, 'partition_root', 'never') AS never
FROM unnest(ARRAY['pr_root', 'pr_root_via', 'pr_middle', 'pr_middle_via', 'pr_leaf', 'pr_leaf_via', 'pr_all',
	'pr_root,pr_middle', 'pr_root,pr_middle_via', 'pr_root_via,pr_middle', 'pr_leaf,pr_middle', 'pr_leaf_via,pr_root']) p;

-- TRUNCATE: a root's own names the root, or its leaves; of a leaf that is
-- announced as its root, nothing is sent.
SELECT FROM next();
TRUNCATE root;
TRUNCATE leaf;
SELECT * FROM changes('pr_root') WHERE message = 'Truncate';
SELECT * FROM changes('pr_root', 'partition_root', 'always') WHERE message = 'Truncate';
SELECT * FROM changes('pr_root_via') WHERE message = 'Truncate';
SELECT * FROM changes('pr_root_via', 'partition_root', 'never') WHERE message = 'Truncate';
SELECT * FROM changes('pr_middle', 'partition_root', 'always') WHERE message = 'Truncate';
SELECT * FROM changes('pr_leaf', 'partition_root', 'always') WHERE message = 'Truncate';

-- Changes of the tree, and of the names in it; 14 (partition_root_1) goes by the tree
-- as it was when it saw the leaf first
SELECT FROM next();
ALTER PUBLICATION pr_root SET TABLE root;
INSERT INTO root VALUES (11, 0, 'one');
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
INSERT INTO leaf VALUES (0, 'five', 15, 5);
SELECT message, relation, columns, new FROM changes('pr_root', 'partition_root', 'always') WHERE relation <> 'leaf';
SELECT message, relation, columns, new FROM changes('pr_root_via', 'partition_root', 'never');

SELECT pg_drop_replication_slot('regress_partition_root');
DROP PUBLICATION pr_root, pr_root_via, pr_middle, pr_middle_via, pr_leaf, pr_leaf_via, pr_all;
DROP SCHEMA partition_root CASCADE;
