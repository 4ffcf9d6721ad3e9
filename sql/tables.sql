-- Options include_tables and exclude_tables.

SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS pgoutput_ext;
CREATE SCHEMA tables;
CREATE SCHEMA "Tables, 2";
SET search_path = tables, public;
\set SHOW_CONTEXT never

-- What is sent, one row per relation
CREATE FUNCTION sent(VARIADIC options text[] DEFAULT '{}') RETURNS TABLE (relation text, messages text)
LANGUAGE sql AS $$
	SELECT relation, string_agg(message, ' ' ORDER BY n)
	FROM pgoutput_ext_peek('regress_tables', NULL, NULL,
			VARIADIC ARRAY['proto_version', '1', 'publication_names', 'tables', 'empty_transactions', 'skip'] || options)
		WITH ORDINALITY p (lsn, xid, message, relation, old, new, detail, n)
	GROUP BY relation ORDER BY relation COLLATE "C" NULLS FIRST $$;

CREATE TABLE a (i int PRIMARY KEY);
CREATE TABLE b (i int PRIMARY KEY);
CREATE TABLE "Tables, 2".a (i int, CONSTRAINT a_key PRIMARY KEY (i));
CREATE TABLE "Tables, 2"."b.""x"" " (i int PRIMARY KEY);
CREATE TABLE other (i int PRIMARY KEY);
CREATE PUBLICATION tables FOR TABLE a, b, "Tables, 2".a, "Tables, 2"."b.""x"" ";
SELECT FROM pg_create_logical_replication_slot('regress_tables', 'pgoutput_ext');
INSERT INTO a VALUES (1);
INSERT INTO b VALUES (1);
INSERT INTO "Tables, 2".a VALUES (1);
INSERT INTO "Tables, 2"."b.""x"" " VALUES (1);
INSERT INTO other VALUES (1);
UPDATE a SET i = 2;
DELETE FROM b;

SELECT * FROM sent();
SELECT * FROM sent('include_tables', 'tables.a');
SELECT * FROM sent('include_tables', 'TABLES.A');
SELECT * FROM sent('include_tables', '"TABLES"."A"');
SELECT * FROM sent('include_tables', 'tables.*');
SELECT * FROM sent('include_tables', '*.a');
SELECT * FROM sent('include_tables', '"Tables, 2".*');
SELECT * FROM sent('include_tables', '*."b.""x"" "');
SELECT * FROM sent('include_tables', 'tables.b,"Tables, 2".a');
SELECT * FROM sent('exclude_tables', 'tables.*');
SELECT * FROM sent('exclude_tables', '*.a,tables.b');
SELECT * FROM sent('include_tables', 'tables.*', 'exclude_tables', '*.b');
SELECT * FROM sent('exclude_tables', '*.*');
-- they narrow, and never widen
SELECT * FROM sent('include_tables', 'tables.other');
SELECT * FROM sent('include_tables', '*.*');
-- a star in quotes is a name
SELECT * FROM sent('include_tables', '"*"."*"');
-- any beginning or end of a name
SELECT * FROM sent('include_tables', 'tab*.*');
SELECT * FROM sent('include_tables', '*, 2.*');
SELECT * FROM sent('include_tables', '*", 2".*');
SELECT * FROM sent('include_tables', '"Tab"*."b."*');
SELECT * FROM sent('exclude_tables', '*able*.a*');
SELECT * FROM sent('include_tables', '"tables"*.b, tables*.A*');
SELECT * FROM sent('include_tables', '"TABLES"*.*');
SELECT * FROM sent('include_tables', 'tables.a_*');
SELECT * FROM sent('include_tables', 'tab*.*', 'exclude_tables', 'tab*.*');

-- A transaction of which nothing is left is empty.
SELECT message, count(*) FROM pgoutput_ext_peek('regress_tables', NULL, NULL,
	'proto_version', '1', 'publication_names', 'tables', 'include_tables', 'tables.a', 'empty_transactions', 'skip') GROUP BY message ORDER BY message COLLATE "C";

-- Names are those at the time of the change.
SELECT FROM pg_replication_slot_advance('regress_tables', pg_current_wal_lsn());
INSERT INTO a VALUES (10);
ALTER TABLE a RENAME TO a2;
INSERT INTO a2 VALUES (11);
ALTER SCHEMA tables RENAME TO tables2;
INSERT INTO tables2.a2 VALUES (12);
INSERT INTO tables2.b VALUES (12);
ALTER TABLE tables2.a2 SET SCHEMA "Tables, 2";
INSERT INTO "Tables, 2".a2 VALUES (13);
ALTER SCHEMA tables2 RENAME TO tables;
INSERT INTO b VALUES (14);
BEGIN;
INSERT INTO "Tables, 2".a2 VALUES (15);
ALTER TABLE "Tables, 2".a2 RENAME TO a3;
INSERT INTO "Tables, 2".a3 VALUES (16);
COMMIT;
CREATE FUNCTION inserts(VARIADIC options text[] DEFAULT '{}') RETURNS TABLE (relation text, i text)
LANGUAGE sql AS $$
	SELECT relation, new ->> 'i'
	FROM pgoutput_ext_peek('regress_tables', NULL, NULL,
		VARIADIC ARRAY['proto_version', '1', 'publication_names', 'tables'] || options)
	WHERE message = 'Insert' $$;
-- 15 does not announce again what is in a renamed schema, unless it must; 14 (tables_1)
-- does not at all
SELECT * FROM inserts('include_tables', '*.*');
SELECT * FROM inserts('include_tables', 'tables.a');
SELECT * FROM inserts('include_tables', '*.a2');
SELECT * FROM inserts('include_tables', 'tables2.*');
SELECT * FROM inserts('exclude_tables', 'tables2.*,*.a3');

-- A name that is too long is cut, like everywhere in SQL.
SELECT FROM pg_replication_slot_advance('regress_tables', pg_current_wal_lsn());
SELECT repeat('long', 16) AS long \gset
CREATE TABLE :long (i int PRIMARY KEY);
ALTER PUBLICATION tables ADD TABLE :long;
INSERT INTO :long VALUES (1);
SELECT * FROM inserts('include_tables', 'tables.' || :'long');
SELECT * FROM inserts('include_tables', 'tables.' || left(:'long', 63));
SELECT * FROM inserts('include_tables', 'tables.' || left(:'long', 62));

-- TRUNCATE names what is left in; a partition is matched by the name that the
-- client sees.
SELECT FROM pg_replication_slot_advance('regress_tables', pg_current_wal_lsn());
CREATE TABLE root (i int PRIMARY KEY) PARTITION BY LIST (i);
CREATE TABLE leaf PARTITION OF root FOR VALUES IN (1);
CREATE TABLE leaf2 PARTITION OF root FOR VALUES IN (2);
CREATE PUBLICATION tables_root FOR TABLE root WITH (publish_via_partition_root);
ALTER PUBLICATION tables ADD TABLE root;
TRUNCATE b, "Tables, 2"."b.""x"" ", other;
INSERT INTO root VALUES (1), (2);
TRUNCATE root;
SELECT * FROM sent();
SELECT * FROM sent('include_tables', '*.b');
SELECT * FROM sent('include_tables', '*.leaf');
SELECT * FROM sent('exclude_tables', '*.leaf,*.b');
SELECT * FROM sent('include_tables', '*.root');
SELECT * FROM sent('include_tables', '*.root', 'partition_root', 'always');
SELECT * FROM sent('include_tables', '*.leaf', 'partition_root', 'always');
ALTER PUBLICATION tables SET (publish_via_partition_root);
INSERT INTO root VALUES (1), (2);
SELECT * FROM inserts('include_tables', '*.root');
SELECT * FROM inserts('include_tables', '*.leaf');
SELECT * FROM inserts('include_tables', '*.leaf', 'partition_root', 'never');

SELECT pg_drop_replication_slot('regress_tables');
DROP PUBLICATION tables, tables_root;
DROP SCHEMA tables, "Tables, 2" CASCADE;
