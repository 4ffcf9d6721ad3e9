-- pgoutput_ext_peek and pgoutput_ext_get

SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS pgoutput_ext;
CREATE SCHEMA reader;
SET search_path = reader, public;
\pset format unaligned

CREATE TYPE mood AS ENUM ('sad', 'ok');
CREATE DOMAIN small AS int CHECK (value < 100);
CREATE TABLE typed (
	id int PRIMARY KEY, i2 int2, i8 int8, o oid, n numeric, f4 float4, f8 float8, b bool,
	j jsonb, js json, m mood, s small, t text, c char(3), by bytea, a int[], d date, u uuid, mo money);
CREATE TABLE toasted (id int PRIMARY KEY, small text, big text);
ALTER TABLE toasted ALTER big SET STORAGE external;
CREATE TABLE "fullDS" (a int, b text);
ALTER TABLE "fullDS" REPLICA IDENTITY FULL;
CREATE TABLE alone ();
CREATE PUBLICATION reader FOR TABLE typed, toasted, "fullDS", alone;
CREATE TABLE slot (name name, plugin name);
INSERT INTO slot VALUES ('reader_pgoutput', 'pgoutput'), ('reader_ext', 'pgoutput_ext');

-- One row per message, as text.
CREATE FUNCTION shown(slot name, VARIADIC options text[] DEFAULT '{}') RETURNS SETOF text LANGUAGE sql AS $$
	SELECT concat_ws(' | ', message, relation, 'old ' || old::text, 'new ' || regexp_replace(new::text, '(.)\1{50,}', '\1...'),
		nullif(detail - ARRAY['lsn', 'xid', 'final_lsn', 'commit_lsn', 'end_lsn', 'commit_timestamp'], '{}')::text)
	FROM pgoutput_ext_peek(slot, NULL, NULL, VARIADIC ARRAY['publication_names', 'reader'] || options) $$;

SELECT plugin, count(pg_create_logical_replication_slot(name, plugin)) FROM slot GROUP BY plugin ORDER BY plugin;

SET DateStyle = 'ISO, MDY';
SET bytea_output = 'hex';
SET lc_monetary = 'C';
INSERT INTO typed VALUES (1, -32768, -9223372036854775808, 4294967295, 12345678901234567890.1234567890, 1.5, 0.1, true,
	'{"b": [1, 2.50, null, "x"], "a": {}}', '{"b":1, "a":2, "b":3}', 'sad', 99, E'a "quote"\\ \n', 'ab', '\x00ff', '{1,NULL}',
	'infinity', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '1');
INSERT INTO typed VALUES (2, 0, 9223372036854775807, 0, 'NaN', 'NaN', '-Infinity', false, '"text"', 'null', 'ok', 0, '', '', '', '{}', NULL, NULL, NULL);
INSERT INTO typed (id, n, f4, f8, j) VALUES
	(3, 0.00, '-0', '1e300', 'null'), (4, -1e30, 1e-45, 123456789.123, 'true'), (5, 1e400, 0, 1e-10, '[]'), (6, NULL, NULL, NULL, NULL);
UPDATE typed SET n = 1 WHERE id = 6;
UPDATE typed SET id = 7 WHERE id = 6;
DELETE FROM typed WHERE id = 7;
BEGIN;
INSERT INTO toasted VALUES (1, 'a', repeat('x', 5000)), (2, NULL, NULL);
UPDATE toasted SET small = 'b';
UPDATE toasted SET id = 3, small = 'c' WHERE id = 1;
UPDATE toasted SET big = 'y' WHERE id = 3;
COMMIT;
INSERT INTO "fullDS" VALUES (1, 'one'), (2, NULL);
UPDATE "fullDS" SET b = 'two' WHERE a = 2;
DELETE FROM "fullDS" WHERE a = 1;
INSERT INTO alone DEFAULT VALUES;
TRUNCATE typed, "fullDS" CASCADE;
TRUNCATE toasted RESTART IDENTITY;
BEGIN;
INSERT INTO alone DEFAULT VALUES;
SELECT count(pg_logical_emit_message(true, prefix, content)) FROM (VALUES
	('app', 'text'), ('pgoutput_ext.demo', '{"a": [1]}'), ('pgoutput_ext.demo', 'no JSON')) v (prefix, content);
SELECT count(pg_logical_emit_message(true, '', '\x00ff'::bytea));
COMMIT;

-- The two plugins' messages are the same.
SELECT shown('reader_pgoutput');
SELECT name FROM slot WHERE ARRAY(SELECT shown(name)) <> ARRAY(SELECT shown('reader_pgoutput'));

-- What stands in the rows, lsn and xid is what the server's function gives.
SELECT s.name, count(*) FROM slot s,
	pgoutput_ext_peek(s.name, NULL, NULL, 'publication_names', 'reader', 'proto_version', '1', 'messages', 'off') WITH ORDINALITY r
	FULL JOIN pg_logical_slot_peek_binary_changes('reader_pgoutput', NULL, NULL,
		'publication_names', 'reader', 'proto_version', '1') WITH ORDINALITY o
	ON r.lsn = o.lsn AND r.xid = o.xid AND r.ordinality = o.ordinality AND r.message = pgoutput_ext_decode(o.data) ->> 'message'
	GROUP BY s.name, (r IS NULL) ORDER BY s.name;
SELECT DISTINCT r.xid::text = detail ->> 'xid', detail ->> 'commit_timestamp' ~ '^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?\+00:00$'
FROM pgoutput_ext_peek('reader_ext') r WHERE message = 'Begin';

-- Binary values, and a type that has no binary form.
SELECT new -> 'id', new -> 't', new -> 'b', new -> 'm' FROM pgoutput_ext_peek('reader_ext', NULL, NULL, 'binary', 'true')
WHERE message = 'Insert' AND relation = 'reader.typed' AND new ->> 'id' IN ('\x00000001', '\x00000006');

-- Limits and options go to the server.
SELECT count(*) FROM pgoutput_ext_peek('reader_ext', NULL, 1);
SELECT count(*) = 0 FROM pgoutput_ext_peek('reader_ext', '0/1');
SELECT count(*) FROM pgoutput_ext_peek('reader_ext', NULL, NULL, 'messages', 'false') WHERE message = 'Message';
\set VERBOSITY sqlstate
SELECT pgoutput_ext_peek('reader_ext', NULL, NULL, 'odd');
SELECT pgoutput_ext_peek('reader_ext', NULL, NULL, 'proto_version', NULL);
SELECT pgoutput_ext_peek('reader_ext', NULL, NULL, VARIADIC NULL);
SELECT pgoutput_ext_peek('reader_ext', NULL, NULL, VARIADIC '{{a,b}}');
SELECT pgoutput_ext_peek('reader_ext', NULL, NULL, 'nosuch', 'option');
SELECT pgoutput_ext_peek('reader_ext', NULL, NULL, 'proto_version', '1', 'proto_version', '1');
SELECT pgoutput_ext_peek(NULL);
SELECT pgoutput_ext_peek('reader_nosuch');
\set VERBOSITY default

-- A slot of another plugin.
SELECT count(pg_create_logical_replication_slot('reader_other', 'test_decoding'));
SELECT pgoutput_ext_peek('reader_other');
SELECT count(pg_drop_replication_slot('reader_other'));

-- Permissions are those of the server's functions.
CREATE ROLE regress_reader;
GRANT USAGE ON SCHEMA reader TO regress_reader;
SET ROLE regress_reader;
\set VERBOSITY sqlstate
SELECT count(*) FROM pgoutput_ext_peek('reader_ext');
SELECT count(*) FROM pgoutput_ext_get('reader_pgoutput');
\set VERBOSITY default
SELECT pgoutput_ext_decode('\x45');
RESET ROLE;
ALTER ROLE regress_reader REPLICATION;
SET ROLE regress_reader;
SELECT count(*) > 10 FROM pgoutput_ext_peek('reader_ext', NULL, NULL, 'publication_names', 'reader');
RESET ROLE;
DROP OWNED BY regress_reader;
DROP ROLE regress_reader;

-- A search_path that shadows what the functions use.
CREATE FUNCTION pg_logical_slot_peek_binary_changes(name, pg_lsn, int, VARIADIC text[]) RETURNS TABLE (lsn pg_lsn, xid xid, data bytea)
LANGUAGE sql AS $$ SELECT NULL::pg_lsn, NULL::xid, '\x45'::bytea $$;
CREATE FUNCTION quote_ident(text) RETURNS text LANGUAGE sql AS $$ SELECT 'shadow' $$;
SET search_path = reader, pg_catalog, public;
SELECT count(*) > 10 FROM pgoutput_ext_peek('reader_ext') WHERE message <> 'Stream Stop';
SET search_path = reader, public;
DROP FUNCTION reader.pg_logical_slot_peek_binary_changes, reader.quote_ident;

-- Get moves the slot, peek does not.
SELECT count(*) > 0 FROM pgoutput_ext_peek('reader_ext', NULL, 1);
SELECT string_agg(message, ', ') FROM pgoutput_ext_get('reader_ext', NULL, 1);
SELECT string_agg(message, ', ') FROM pgoutput_ext_get('reader_ext', NULL, 1);
SELECT count(*) > 0 FROM pgoutput_ext_get('reader_ext');
SELECT count(*) FROM pgoutput_ext_get('reader_ext');
SELECT count(*) > 0 FROM pgoutput_ext_get('reader_pgoutput');

-- Streamed transactions.
SET logical_decoding_work_mem = '64kB';
BEGIN;
INSERT INTO typed (id, t) SELECT i, repeat('x', 100) FROM generate_series(1, 1000) i;
SAVEPOINT a;
INSERT INTO "fullDS" SELECT i FROM generate_series(1, 1000) i;
ROLLBACK TO a;
INSERT INTO "fullDS" VALUES (0);
SELECT count(pg_logical_emit_message(true, 'streamed', 'x'));
COMMIT;
SELECT name, message, relation, count(*) > 1, bool_and(detail ? 'xid'), bool_or(detail ? 'xid')
FROM slot, pgoutput_ext_peek(name, NULL, NULL, 'streaming', 'on', 'publication_names', 'reader')
WHERE message NOT IN ('Type', 'Stream Abort') GROUP BY 1, 2, 3 ORDER BY 1, 2, 3;
SELECT name, count(*) FROM slot, pgoutput_ext_get(name, NULL, NULL, 'streaming', 'on', 'publication_names', 'reader')
WHERE message = 'Insert' AND relation = 'reader.typed' GROUP BY name ORDER BY name;
RESET logical_decoding_work_mem;

-- All publications of the database, or none.
SELECT count(pg_drop_replication_slot(name)) FROM slot;
DROP PUBLICATION reader;
CREATE PUBLICATION "reader, ""x""" FOR TABLE alone;
CREATE PUBLICATION reader2 FOR TABLE "fullDS";
SELECT plugin, count(pg_create_logical_replication_slot(name, plugin)) FROM slot GROUP BY plugin ORDER BY plugin;
BEGIN; INSERT INTO alone DEFAULT VALUES; INSERT INTO "fullDS" VALUES (1); COMMIT;
SELECT name, message, relation FROM slot, pgoutput_ext_peek(name) WHERE message = 'Insert' ORDER BY name, relation;
-- A publication that is younger than the changes does not hide the others.
CREATE PUBLICATION reader3 FOR TABLE "fullDS";
SELECT message, relation FROM pgoutput_ext_peek('reader_ext') WHERE message = 'Insert' ORDER BY relation;
\set VERBOSITY terse
SELECT message, relation FROM pgoutput_ext_peek('reader_ext', NULL, NULL, 'missing_publication', 'error');
\set VERBOSITY default
DROP PUBLICATION "reader, ""x""";
DROP PUBLICATION reader2;
DROP PUBLICATION reader3;
SELECT pgoutput_ext_peek('reader_ext');
SELECT count(pg_drop_replication_slot(name)) FROM slot;
DROP SCHEMA reader CASCADE;
