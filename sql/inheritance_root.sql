-- Option inheritance_root: changes of a child by INHERITS go by its topmost parent.
-- Which rows and columns are sent stays what the publications say of the child.

SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS pgoutput_ext;
CREATE SCHEMA inheritance_root;
SET search_path = inheritance_root, public;
\set SHOW_CONTEXT never

CREATE FUNCTION changes(publications text, VARIADIC options text[] DEFAULT '{}') RETURNS TABLE (message text, relation text, columns text, old jsonb, new jsonb)
LANGUAGE sql AS $$
	SELECT message, replace(relation, 'inheritance_root.', ''),
		(SELECT string_agg(concat(c ->> 'name', CASE WHEN (c ->> 'key')::bool THEN '*' END), ' ')
		 FROM jsonb_array_elements(detail -> 'columns') c),
		old, new
	FROM pgoutput_ext_peek('regress_inheritance_root', NULL, NULL,
		VARIADIC ARRAY['proto_version', '1', 'publication_names', publications] || options)
	WHERE message NOT IN ('Begin', 'Commit') $$;
CREATE FUNCTION next() RETURNS void LANGUAGE sql AS $$
	SELECT pg_replication_slot_advance('regress_inheritance_root', pg_current_wal_lsn()) $$;

-- three levels; the children have their columns in another order, and more of them
CREATE TABLE top (a int PRIMARY KEY, b int, gone int, c text);
ALTER TABLE top DROP gone;
CREATE TABLE mid (own_mid int, c text, a int PRIMARY KEY, b int);
ALTER TABLE mid INHERIT top;
CREATE TABLE low (own_low text, b int, dropped int, a int NOT NULL, c text, own_mid int, PRIMARY KEY (a));
ALTER TABLE low DROP dropped, INHERIT mid;
CREATE TABLE alone (a int PRIMARY KEY);
CREATE PUBLICATION ir_all FOR ALL TABLES;
CREATE PUBLICATION ir_low FOR TABLE ONLY low;
CREATE PUBLICATION ir_top FOR TABLE ONLY top;
CREATE PUBLICATION ir_insert FOR TABLE ONLY mid WITH (publish = 'insert, truncate');
SELECT FROM pg_create_logical_replication_slot('regress_inheritance_root', 'pgoutput_ext');

INSERT INTO top VALUES (1, 10, 'top');
INSERT INTO low (a, b, c, own_low, own_mid) VALUES (3, 30, 'low', 'l', 33);
UPDATE top SET b = b + 1 WHERE a IN (1, 3);
UPDATE low SET a = 4 WHERE a = 3;
DELETE FROM low;
INSERT INTO alone VALUES (5);
SELECT * FROM changes('ir_all');
SELECT * FROM changes('ir_all', 'inheritance_root', 'always');
-- the child must be published: its parent's publication is not its own
SELECT * FROM changes('ir_low', 'inheritance_root', 'always');
SELECT * FROM changes('ir_top', 'inheritance_root', 'always');
-- names of the options are those that the client sees
SELECT message, relation, columns, new FROM changes('ir_all', 'inheritance_root', 'always', 'exclude_tables', '*.low, *.alone', 'exclude_columns', '*.top.b');
SELECT count(*) FROM changes('ir_all', 'inheritance_root', 'always', 'include_tables', '*.low');
-- each value is that of the child's own row
SELECT count(*), bool_and(a.new @> b.new) AS same_values, bool_and(b.new ?& '{a,b,c}' AND NOT b.new ?| '{own_low,own_mid}') AS columns_of_top
FROM (SELECT row_number() OVER (), new FROM changes('ir_low') WHERE new IS NOT NULL) a (n, new)
	JOIN (SELECT row_number() OVER (), new FROM changes('ir_low', 'inheritance_root', 'always') WHERE new IS NOT NULL) b (n, new) USING (n);

-- REPLICA IDENTITY: the root's says what the columns of an old row are called
SELECT next();
INSERT INTO low (a, b, c) VALUES (6, 60, 'low');
ALTER TABLE low REPLICA IDENTITY FULL;
UPDATE low SET b = 61;
ALTER TABLE top REPLICA IDENTITY FULL;
UPDATE low SET b = 62;
ALTER TABLE top REPLICA IDENTITY DEFAULT;
ALTER TABLE low REPLICA IDENTITY DEFAULT;
DELETE FROM low;
SELECT * FROM changes('ir_low', 'inheritance_root', 'always');

-- TRUNCATE as for partitions: of the parent, not of the child
SELECT next();
TRUNCATE low;
TRUNCATE top;
TRUNCATE ONLY mid;
SELECT message, relation FROM changes('ir_all');
SELECT message, relation FROM changes('ir_all', 'inheritance_root', 'always');
SELECT count(*) FROM changes('ir_insert', 'inheritance_root', 'always');

-- what changes midway: columns, names, parents
SELECT next();
INSERT INTO low (a) VALUES (7);
ALTER TABLE top ADD COLUMN d int DEFAULT 4;
INSERT INTO low (a) VALUES (8);
ALTER TABLE top RENAME TO topmost;
INSERT INTO low (a) VALUES (9);
ALTER TABLE topmost RENAME TO top;
ALTER TABLE mid NO INHERIT top;
INSERT INTO low (a) VALUES (10);
ALTER TABLE low NO INHERIT mid;
INSERT INTO low (a) VALUES (11);
ALTER TABLE low INHERIT mid;
ALTER TABLE mid INHERIT top;
INSERT INTO low (a) VALUES (12);
ALTER TABLE top DROP COLUMN d;
INSERT INTO low (a) VALUES (13);
SELECT message, relation, columns, new ->> 'a' AS a FROM changes('ir_low', 'inheritance_root', 'always');

-- several parents
SELECT next();
CREATE TABLE "Other" (b int);
ALTER TABLE mid INHERIT "Other";
INSERT INTO low (a) VALUES (14);
SELECT count(*) FROM changes('ir_low');
SELECT * FROM changes('ir_low', 'inheritance_root', 'always');
\echo :SQLSTATE
-- only where it is published
SELECT count(*) FROM changes('ir_top', 'inheritance_root', 'always');
ALTER TABLE mid NO INHERIT "Other";

-- a partition goes by partition_root
SELECT next();
CREATE TABLE part (a int) PARTITION BY LIST (a);
CREATE TABLE part_1 PARTITION OF part FOR VALUES IN (1);
INSERT INTO part VALUES (1);
SELECT message, relation, new FROM changes('ir_all', 'inheritance_root', 'always');
SELECT message, relation, new FROM changes('ir_all', 'inheritance_root', 'always', 'partition_root', 'always');

SELECT FROM pg_drop_replication_slot('regress_inheritance_root');
DROP PUBLICATION ir_all, ir_low, ir_top, ir_insert;
DROP SCHEMA inheritance_root CASCADE;
