-- Option value_format: values as text, by the session's settings or always the
-- same.

SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS pgoutput_ext;
CREATE SCHEMA value_format;
SET search_path = value_format, public;
\set SHOW_CONTEXT never

CREATE TYPE composite AS (t timestamptz, b bytea);
CREATE DOMAIN domain AS interval;
CREATE TABLE t (
	id int PRIMARY KEY,
	d date,
	ts timestamp,
	tz timestamptz,
	i interval,
	b bytea,
	f4 float4,
	f8 float8,
	m money,
	a timestamptz[],
	c composite,
	r tstzrange,
	dom domain,
	j jsonb,
	cl regclass,
	ty regtype,
	pr regprocedure);
ALTER TABLE t REPLICA IDENTITY FULL;
CREATE PUBLICATION value_format FOR TABLE t;
SELECT FROM pg_create_logical_replication_slot('regress_value_format', 'pgoutput_ext');
INSERT INTO t VALUES (1, '2026-11-30', '2026-11-30 12:34:56.789', '2026-11-30 12:34:56.789+00', '1 year 2 mons -3 days 04:05:06.7', '\x00ff5c41',
	0.1::float4 + 0.2::float4, 0.1::float8 + 0.2::float8, '1234.50', '{2026-06-30 12:00+00, NULL}', ROW('2026-06-30 12:00+00', '\x5c00'),
	'[2026-06-30 12:00+00,)', '-1 day 2 hours', '{"a": [1.50, null]}', 'value_format.t', 'value_format.composite', 'pg_catalog.lower(text)');
-- with the old row
UPDATE t SET id = 2;

CREATE FUNCTION sent(VARIADIC options text[] DEFAULT '{}') RETURNS TABLE (message text, tuple text, key text, value text) LANGUAGE sql AS $$
	SELECT message, x.tuple, e.key, e.value
	FROM pgoutput_ext_peek('regress_value_format', NULL, NULL,
			VARIADIC ARRAY['proto_version', '1', 'publication_names', 'value_format'] || options)
		WITH ORDINALITY p (lsn, xid, message, relation, old, new, detail, n),
		LATERAL (VALUES ('old', p.old), ('new', p.new)) x (tuple, row),
		LATERAL jsonb_each_text(x.row) e
	ORDER BY n, x.tuple DESC, e.key COLLATE "C" $$;

SET DateStyle = 'SQL, DMY';
SET IntervalStyle = 'iso_8601';
SET TimeZone = 'Asia/Kathmandu';
SET bytea_output = 'escape';
SET extra_float_digits = -3;
SET quote_all_identifiers = on;
SELECT key, value FROM sent() WHERE message = 'Insert';
SELECT * FROM sent('value_format', 'canonical');
-- the settings are the session's again, also after an error
SELECT now()::text ~ '^[0-9]{2}/[0-9]{2}/[0-9]{4} ' AS datestyle, current_setting('DateStyle'), current_setting('IntervalStyle'),
	current_setting('TimeZone'), current_setting('bytea_output'), current_setting('extra_float_digits'),
	current_setting('quote_all_identifiers'), current_setting('search_path');
SELECT count(*) FROM pgoutput_ext_peek('regress_value_format', NULL, NULL,
	'proto_version', '1', 'publication_names', 'no_such_publication', 'value_format', 'canonical', 'missing_publication', 'error');
SHOW DateStyle;
BEGIN;
SAVEPOINT s;
SET LOCAL DateStyle = 'German';
SELECT count(*) FROM sent('value_format', 'canonical');
SHOW DateStyle;
RELEASE s;
SHOW DateStyle;
COMMIT;
SHOW DateStyle;

-- Whatever the settings are, the bytes do not change.
CREATE FUNCTION digest(VARIADIC options text[] DEFAULT '{}') RETURNS text LANGUAGE sql AS $$
	SELECT md5(string_agg(data, '' ORDER BY n)) FROM pg_logical_slot_peek_binary_changes('regress_value_format', NULL, NULL,
			VARIADIC ARRAY['proto_version', '1', 'publication_names', 'value_format'] || options)
		WITH ORDINALITY p (lsn, xid, data, n) $$;
-- (nothing is written on the way: decoding would wait for that WAL)
CREATE FUNCTION digests(OUT sessions int, OUT canonical int, OUT tried int) LANGUAGE plpgsql AS $$
DECLARE
	setting text[];
	session_digests text[];
	canonical_digests text[];
BEGIN
	FOREACH setting SLICE 1 IN ARRAY ARRAY[
		['DateStyle', 'ISO, MDY'], ['DateStyle', 'ISO, YMD'], ['DateStyle', 'Postgres, MDY'], ['DateStyle', 'SQL, MDY'], ['DateStyle', 'German'],
		['IntervalStyle', 'postgres'], ['IntervalStyle', 'postgres_verbose'], ['IntervalStyle', 'sql_standard'], ['IntervalStyle', 'iso_8601'],
		['TimeZone', 'UTC'], ['TimeZone', 'America/Caracas'], ['TimeZone', '<+03>-3'], ['bytea_output', 'hex'], ['bytea_output', 'escape'],
		['extra_float_digits', '-15'], ['extra_float_digits', '0'], ['extra_float_digits', '1'], ['extra_float_digits', '3'],
		['lc_monetary', 'C'], ['xmlbinary', 'hex'], ['xmlbinary', 'base64'], ['search_path', 'pg_catalog'], ['search_path', 'value_format, pg_temp, pg_catalog'],
		['quote_all_identifiers', 'off'], ['quote_all_identifiers', 'on']] LOOP
		PERFORM set_config(setting[1], setting[2], false);
		session_digests := session_digests || value_format.digest();
		canonical_digests := canonical_digests || value_format.digest('value_format', 'canonical');
	END LOOP;
	SELECT count(DISTINCT d) INTO sessions FROM unnest(session_digests) d;
	SELECT count(DISTINCT d), count(*) INTO canonical, tried FROM unnest(canonical_digests) d;
END $$;
SELECT sessions > 10 AS many, canonical, tried FROM value_format.digests();
RESET ALL;
SET search_path = value_format, public;
SET client_min_messages = warning;

-- "session" is what there is without it; binary values have no format.
SELECT digest() = digest('value_format', 'session') AS session, digest() = digest('value_format', 'canonical') AS canonical;
SET DateStyle = 'ISO';
SET TimeZone = 'UTC';
SELECT digest() = digest('value_format', 'session') AS session, digest('binary', 'on') = digest('binary', 'on', 'value_format', 'canonical') AS binary;

SELECT pg_drop_replication_slot('regress_value_format');
DROP PUBLICATION value_format;
DROP SCHEMA value_format CASCADE;
