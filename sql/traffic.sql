-- pgoutput_ext_traffic: what a slot has waiting, by table

SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS pgoutput_ext;
CREATE SCHEMA traffic;
SET search_path = traffic, public;
\pset format unaligned

CREATE TABLE one (a int PRIMARY KEY);
CREATE TABLE two (a int PRIMARY KEY, b text);
CREATE TABLE "Quoted ""x""" (m text);
CREATE TABLE unpublished (a int);
CREATE PUBLICATION traffic FOR TABLE one, two, "Quoted ""x""";

-- The same from the bytes that the server's function gives, by arithmetic. Lengths stand
-- for the sizes; names are those of the catalog.
CREATE FUNCTION oid_at(data bytea, at int) RETURNS oid LANGUAGE sql AS $$
	SELECT (get_byte(data, at)::bigint << 24 | get_byte(data, at + 1) << 16 | get_byte(data, at + 2) << 8 | get_byte(data, at + 3))::oid $$;
CREATE FUNCTION counted(slot name, upto pg_lsn, VARIADIC options text[] DEFAULT '{}')
RETURNS TABLE (kind text, schema_name text, table_name text, relation_oid oid, inserts bigint, updates bigint, deletes bigint,
	truncates bigint, transactions bigint, messages bigint, bytes bigint, largest_message bigint) LANGUAGE sql AS $$
	WITH message AS MATERIALIZED (
		SELECT *, chr(get_byte(data, 0)) AS type FROM pg_logical_slot_peek_binary_changes(slot, upto, NULL,
			VARIADIC ARRAY['publication_names', 'traffic'] || options) WITH ORDINALITY m (lsn, xid, data, n)
	), placed AS (
		-- the streams, and transactions that begin, up to here; in a stream, behind its xid
		SELECT *, count(*) FILTER (WHERE type = 'S') OVER w > count(*) FILTER (WHERE type = 'E') OVER w AS streamed,
			CASE WHEN type = 'S' THEN oid_at(data, 1) END AS stream, count(*) FILTER (WHERE type IN ('B', 'b')) OVER w AS begun
		FROM message WINDOW w AS (ORDER BY n)
	), known AS (
		SELECT *, CASE WHEN streamed THEN 's' || (max(ARRAY[n, stream::bigint]) FILTER (WHERE type = 'S') OVER (ORDER BY n))[2] ELSE 'b' || begun END AS transaction,
			CASE WHEN streamed THEN 5 ELSE 1 END AS at FROM placed
	), relation AS (
		SELECT k.*, CASE WHEN type IN ('R', 'I', 'U', 'D') THEN 'table' WHEN type = 'T' THEN 'table' WHEN type = 'M' THEN 'message' ELSE 'other' END AS kind,
			CASE WHEN type IN ('R', 'I', 'U', 'D') THEN oid_at(data, at) WHEN type = 'T' THEN oid_at(data, at + 5 + 4 * i) END AS oid, i
		FROM known k, generate_series(0, CASE WHEN type = 'T' THEN oid_at(data, at)::bigint::int - 1 ELSE 0 END) i
	)
	SELECT r.kind, nspname::text, relname::text, r.oid, count(*) FILTER (WHERE type = 'I'), count(*) FILTER (WHERE type = 'U'), count(*) FILTER (WHERE type = 'D'),
		count(*) FILTER (WHERE type = 'T'),
		count(DISTINCT transaction) FILTER (WHERE type IN ('I', 'U', 'D', 'T', 'B', 'b', 'S') OR type = 'M' AND get_byte(data, at) = 1),
		count(*) FILTER (WHERE i = 0), coalesce(sum(length(data)) FILTER (WHERE i = 0), 0), coalesce(max(length(data)) FILTER (WHERE i = 0), 0)
	FROM relation r LEFT JOIN pg_class c ON c.oid = r.oid LEFT JOIN pg_namespace n ON n.oid = c.relnamespace
	GROUP BY r.kind, nspname, relname, r.oid $$;
-- What differs, row by row: nothing.
CREATE FUNCTION difference(slot name, upto pg_lsn, VARIADIC options text[] DEFAULT '{}') RETURNS SETOF record LANGUAGE sql AS $$
	WITH got AS MATERIALIZED (
		SELECT * FROM pgoutput_ext_traffic(slot, upto, NULL, VARIADIC ARRAY['publication_names', 'traffic'] || options)
	), expected AS MATERIALIZED (SELECT * FROM counted(slot, upto, VARIADIC options))
	(SELECT 'more', g.* FROM (TABLE got EXCEPT ALL TABLE expected) g) UNION ALL
	(SELECT 'less', e.* FROM (TABLE expected EXCEPT ALL TABLE got) e) $$;

SELECT count(pg_create_logical_replication_slot('traffic_' || plugin, plugin)) FROM unnest('{pgoutput,pgoutput_ext}'::name[]) plugin;
INSERT INTO one VALUES (1), (22), (333);
BEGIN;
INSERT INTO two VALUES (1, 'x'), (2, repeat('y', 100));
UPDATE two SET b = 'z' WHERE a = 1;
UPDATE two SET a = 3 WHERE a = 2;
DELETE FROM two WHERE a = 1;
INSERT INTO one VALUES (4);
INSERT INTO unpublished VALUES (1);
SELECT count(pg_logical_emit_message(true, 'app', 'text'));
COMMIT;
SELECT count(pg_logical_emit_message(false, 'app', repeat('m', 200)));
INSERT INTO "Quoted ""x""" VALUES (repeat('w', 1000));
TRUNCATE one, two;
TRUNCATE one;
SELECT pg_current_wal_insert_lsn() AS upto \gset
SELECT confirmed_flush_lsn AS confirmed FROM pg_replication_slots WHERE slot_name = 'traffic_pgoutput_ext' \gset

-- By hand: Insert of (333) is I, OID, N, 2 bytes count, t, 4 bytes length, 333: 16; Relation of one is R, OID, traffic\0,
-- one\0, d, 2 bytes count, flags, a\0, OID, modifier: 31. With 3 inserts in a row 14 + 15 + 16, then 14.
SELECT kind, schema_name, table_name, relation_oid = (quote_ident(schema_name) || '.' || quote_ident(table_name))::regclass AS oid,
	inserts, updates, deletes, truncates, transactions, messages, bytes, largest_message
FROM pgoutput_ext_traffic('traffic_pgoutput_ext', :'upto', NULL, 'empty_transactions', 'skip', 'publication_names', 'traffic');
-- The sums are those of all messages, whichever the plugin, in text or binary.
SELECT * FROM difference('traffic_pgoutput_ext', :'upto', 'proto_version', '1', 'messages', 'true', 'empty_transactions', 'skip')
	d (what text, kind text, schema_name text, table_name text, relation_oid oid, i int8, u int8, d int8, t int8, x int8, m int8, b int8, l int8);
SELECT * FROM difference('traffic_pgoutput', :'upto', 'proto_version', '1', 'messages', 'true', 'binary', 'true')
	d (what text, kind text, schema_name text, table_name text, relation_oid oid, i int8, u int8, d int8, t int8, x int8, m int8, b int8, l int8);
SELECT confirmed_flush_lsn = :'confirmed' AS not_moved, active FROM pg_replication_slots WHERE slot_name = 'traffic_pgoutput_ext';

-- Limits.
SELECT kind, table_name, inserts, messages FROM pgoutput_ext_traffic('traffic_pgoutput_ext', :'upto', 1, 'publication_names', 'traffic', 'empty_transactions', 'skip');
SELECT count(*) FROM pgoutput_ext_traffic('traffic_pgoutput_ext', '0/1', NULL, 'publication_names', 'traffic');

-- A streamed transaction counts once for a relation; t/032 has streams that take turns.
SELECT count(*) FROM pg_logical_slot_get_binary_changes('traffic_pgoutput_ext', NULL, NULL, 'proto_version', '1', 'publication_names', 'traffic') HAVING count(*) = 0;
SET logical_decoding_work_mem = '64kB';
BEGIN;
INSERT INTO two SELECT i, repeat('x', 100) FROM generate_series(100, 2000) i;
SAVEPOINT a;
INSERT INTO "Quoted ""x""" SELECT repeat('y', 100) FROM generate_series(1, 1000);
ROLLBACK TO a;
INSERT INTO two VALUES (50, 'after');
INSERT INTO one VALUES (1);
SELECT count(pg_logical_emit_message(true, 'streamed', 'x'));
COMMIT;
SELECT pg_current_wal_insert_lsn() AS upto \gset
SELECT * FROM difference('traffic_pgoutput_ext', :'upto', 'proto_version', '2', 'streaming', 'on', 'messages', 'true', 'empty_transactions', 'skip')
	d (what text, kind text, schema_name text, table_name text, relation_oid oid, i int8, u int8, d int8, t int8, x int8, m int8, b int8, l int8);
SELECT kind, table_name, inserts >= 1, transactions FROM pgoutput_ext_traffic('traffic_pgoutput_ext', :'upto', NULL,
	'publication_names', 'traffic', 'streaming', 'on', 'empty_transactions', 'skip') ORDER BY kind COLLATE "C", table_name COLLATE "C";
RESET logical_decoding_work_mem;

-- Errors: what is no slot of ours, no list of options, or no option of pgoutput.
\set VERBOSITY terse
SELECT count(pg_create_physical_replication_slot('traffic_physical'));
SELECT count(pg_create_logical_replication_slot('traffic_other', 'test_decoding'));
SELECT pgoutput_ext_traffic('traffic_nosuch');
SELECT pgoutput_ext_traffic('traffic_physical');
SELECT pgoutput_ext_traffic('traffic_other');
SELECT pgoutput_ext_traffic(NULL);
SELECT pgoutput_ext_traffic('traffic_pgoutput_ext', NULL, NULL, VARIADIC NULL);
SELECT pgoutput_ext_traffic('traffic_pgoutput_ext', NULL, NULL, VARIADIC '{{a,b}}');
SELECT pgoutput_ext_traffic('traffic_pgoutput_ext', NULL, NULL, 'proto_version', NULL);
SELECT pgoutput_ext_traffic('traffic_pgoutput_ext', NULL, NULL, 'odd');
SELECT pgoutput_ext_traffic('traffic_pgoutput_ext', NULL, NULL, 'nosuch', 'option');
SELECT pgoutput_ext_traffic('traffic_pgoutput', NULL, NULL, 'nosuch', 'option');
SELECT count(pg_drop_replication_slot(slot_name)) FROM pg_replication_slots WHERE slot_name IN ('traffic_physical', 'traffic_other');

-- A caught error leaves the slot free, and the next one can be looked at.
DO $$
DECLARE
	option text;
BEGIN
	FOREACH option IN ARRAY '{nosuch,messages}'::text[] LOOP
		BEGIN
			RAISE WARNING '% transactions', (SELECT sum(transactions) > 0 FROM pgoutput_ext_traffic('traffic_pgoutput_ext', NULL, NULL, option, 'true', 'publication_names', 'traffic'));
		EXCEPTION WHEN OTHERS THEN
			RAISE WARNING '%, active: %', SQLERRM, (SELECT active FROM pg_replication_slots WHERE slot_name = 'traffic_pgoutput_ext');
		END;
	END LOOP;
END $$;

-- It can be cancelled inside one transaction.
INSERT INTO two SELECT i FROM generate_series(10001, 110000) i;
SET statement_timeout = '10ms';
SELECT count(*) FROM pgoutput_ext_traffic('traffic_pgoutput_ext', NULL, NULL, 'publication_names', 'traffic');
RESET statement_timeout;
SELECT active FROM pg_replication_slots WHERE slot_name = 'traffic_pgoutput_ext';
SELECT inserts FROM pgoutput_ext_traffic('traffic_pgoutput_ext', NULL, NULL, 'publication_names', 'traffic') WHERE table_name = 'two';

-- Who may: as for the server's functions.
CREATE ROLE regress_traffic;
GRANT USAGE ON SCHEMA traffic TO regress_traffic;
SET ROLE regress_traffic;
\set VERBOSITY sqlstate
SELECT count(*) FROM pg_logical_slot_peek_binary_changes('traffic_pgoutput_ext', NULL, 1);
SELECT count(*) FROM pgoutput_ext_traffic('traffic_pgoutput_ext');
\set VERBOSITY default
RESET ROLE;
ALTER ROLE regress_traffic REPLICATION;
SET ROLE regress_traffic;
SELECT count(*) > 0 FROM pgoutput_ext_traffic('traffic_pgoutput_ext', NULL, 1, 'publication_names', 'traffic');
RESET ROLE;
DROP OWNED BY regress_traffic;
DROP ROLE regress_traffic;

-- A table goes by the name that was announced last.
ALTER TABLE one RENAME TO renamed;
INSERT INTO renamed VALUES (5);
SELECT table_name, inserts FROM pgoutput_ext_traffic('traffic_pgoutput_ext', NULL, NULL, 'publication_names', 'traffic')
WHERE relation_oid = 'renamed'::regclass;

SELECT count(pg_drop_replication_slot('traffic_' || plugin)) FROM unnest('{pgoutput,pgoutput_ext}'::name[]) plugin;
DROP PUBLICATION traffic;
DROP SCHEMA traffic CASCADE;
