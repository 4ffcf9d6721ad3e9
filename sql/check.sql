-- pgoutput_ext_check: what one database can show on every version, in every
-- encoding. Each finding's own case, with its remedy, is in t/09*_check_*.pl.

SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS pgoutput_ext;
CREATE SCHEMA "check";
SET search_path = "check", public;
\pset format unaligned

CREATE TABLE good (id int PRIMARY KEY, v int);
CREATE TABLE no_key (a int);
CREATE TABLE deferred (a int PRIMARY KEY DEFERRABLE);
CREATE TABLE nothing (a int PRIMARY KEY);
ALTER TABLE nothing REPLICA IDENTITY NOTHING;
CREATE TABLE by_index (a int NOT NULL UNIQUE, b text);
ALTER TABLE by_index REPLICA IDENTITY USING INDEX by_index_a_key;
CREATE TABLE whole (a int, b text);
ALTER TABLE whole REPLICA IDENTITY FULL;
CREATE TABLE toasted (id text PRIMARY KEY, t text, j jsonb, i int, "Odd" bytea, n numeric);
ALTER TABLE toasted ALTER j SET STORAGE PLAIN;
CREATE TABLE parted (a int, b int, PRIMARY KEY (a)) PARTITION BY LIST (a);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES IN (1);
CREATE TABLE parted_2 PARTITION OF parted FOR VALUES IN (2) PARTITION BY LIST (a);
CREATE TABLE parted_2_2 PARTITION OF parted_2 FOR VALUES IN (2);
ALTER TABLE parted_2_2 REPLICA IDENTITY FULL;
CREATE UNLOGGED TABLE parted_3 PARTITION OF parted FOR VALUES IN (3);
CREATE TABLE keyless (a int, b text) PARTITION BY LIST (a);
CREATE TABLE keyless_1 PARTITION OF keyless FOR VALUES IN (1);
CREATE UNIQUE INDEX keyless_1_a ON keyless_1 (a);
ALTER TABLE keyless_1 ALTER a SET NOT NULL;
ALTER TABLE keyless_1 REPLICA IDENTITY USING INDEX keyless_1_a;

CREATE PUBLICATION check_good FOR TABLE good, whole;
CREATE PUBLICATION check_tables FOR TABLE good, no_key, deferred, nothing, by_index, whole, toasted;
CREATE PUBLICATION check_inserts FOR TABLE no_key, toasted WITH (publish = 'insert, truncate');
CREATE PUBLICATION check_leaves FOR TABLE parted_1;
CREATE PUBLICATION check_root FOR TABLE parted, keyless WITH (publish_via_partition_root);
CREATE PUBLICATION check_empty;

-- How old a publication is in the eyes of the slot depends on other slots and
-- transactions of the server, so that is looked at apart, below.
CREATE FUNCTION found(publication_names text[], OUT severity text, OUT object text, OUT finding text, OUT remedy text)
RETURNS SETOF record LANGUAGE sql AS $$
	SELECT * FROM pgoutput_ext_check('check', publication_names)
	WHERE object NOT LIKE 'slot%' AND finding NOT LIKE 'may be younger%' $$;

SELECT count(pg_create_logical_replication_slot('check', 'pgoutput_ext'));
SELECT count(pg_create_logical_replication_slot('check_other', 'test_decoding'));
SELECT count(pg_create_physical_replication_slot('check_physical'));

SELECT * FROM pgoutput_ext_check('check', '{check_good}') WHERE object LIKE 'slot%' AND finding NOT LIKE 'has two_phase%';
SELECT * FROM pgoutput_ext_check('check', '{}') WHERE object LIKE 'slot%' AND finding NOT LIKE 'has two_phase%';
SELECT * FROM found('{check_tables}');
SELECT * FROM found('{check_inserts}');
SELECT * FROM found('{check_leaves}');
SELECT * FROM found('{check_root}');
SELECT * FROM found('{check_empty,check_nosuch,"Check odd"}');
SELECT * FROM pgoutput_ext_check('check_other', '{check_good}') WHERE object LIKE 'slot%' AND finding NOT LIKE 'has two_phase%';
SELECT * FROM pgoutput_ext_check('check_physical', '{check_good}') WHERE object LIKE 'slot%' AND finding NOT LIKE 'has two_phase%';
SELECT * FROM pgoutput_ext_check('check_nosuch', '{check_good}');

-- what is said of the key is what the server says
UPDATE no_key SET a = 1;
UPDATE deferred SET a = 1;
UPDATE nothing SET a = 1;
UPDATE by_index SET a = 1;
UPDATE whole SET a = 1;

-- younger than the slot
CREATE PUBLICATION check_young FOR TABLE good;
SELECT * FROM pgoutput_ext_check('check', '{check_young,check_good}') WHERE object = 'publication check_young';

-- settings
CREATE ROLE regress_check REPLICATION;
CREATE ROLE regress_check_other;
ALTER ROLE regress_check SET bytea_output = 'escape';
ALTER ROLE regress_check SET DateStyle = 'ISO, DMY';
ALTER ROLE regress_check_other SET bytea_output = 'escape';
SELECT current_database() AS db \gset
ALTER ROLE regress_check IN DATABASE :"db" SET IntervalStyle = 'iso_8601';
ALTER DATABASE :"db" SET extra_float_digits = 0;
ALTER DATABASE :"db" SET DateStyle = 'SQL, DMY';
SELECT * FROM found('{check_good}');
ALTER DATABASE :"db" RESET extra_float_digits;
ALTER DATABASE :"db" RESET DateStyle;

-- anyone may ask, and a search_path that shadows the catalog changes nothing
CREATE VIEW pg_publication AS SELECT 1 AS oid;
CREATE FUNCTION quote_ident(text) RETURNS text LANGUAGE sql AS $$ SELECT 'shadow' $$;
SET search_path = "check", pg_catalog, public;
SET ROLE regress_check_other;
SELECT * FROM pgoutput_ext_check('check', '{check_good}') WHERE object LIKE 'slot%' AND finding NOT LIKE 'has two_phase%';
RESET ROLE;
SET search_path = "check", public;

-- wherever the extension is
ALTER EXTENSION pgoutput_ext SET SCHEMA "check";
SELECT count(*) > 0 AS found FROM "check".pgoutput_ext_check('check', '{check_good}');
ALTER EXTENSION pgoutput_ext SET SCHEMA public;

DROP ROLE regress_check, regress_check_other;
SELECT count(pg_drop_replication_slot(name)) FROM unnest('{check,check_other,check_physical}'::name[]) name;
DROP PUBLICATION check_good, check_tables, check_inserts, check_leaves, check_root, check_empty, check_young;
SELECT * FROM pgoutput_ext_check('check_nosuch');
DROP SCHEMA "check" CASCADE;
