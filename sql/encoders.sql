-- Values as the direct encoders send them: kind, length, and the bytes.
-- Random values under all settings are compared in t/040_encoders.pl.
SET client_min_messages = warning;
SET timezone = 'UTC';
SET datestyle = 'ISO, MDY';
SET intervalstyle = 'postgres';
SET bytea_output = 'hex';
SET extra_float_digits = 1;

CREATE EXTENSION pgoutput_ext_test;

-- Kind and length of an encoded value, then its bytes; or what differs if the
-- server's function gives others.
CREATE FUNCTION shown(direct bytea, by_function bytea) RETURNS text
IMMUTABLE LANGUAGE sql AS $$
	SELECT CASE WHEN direct = by_function OR direct IS NULL
		THEN encode(substr(direct, 1, 1), 'escape') || ' ' ||
			('x' || encode(substr(direct, 2, 4), 'hex'))::bit(32)::int || ' ' ||
			CASE get_byte(direct, 0) WHEN ascii('b')
				THEN encode(substr(direct, 6), 'hex')
				ELSE encode(substr(direct, 6), 'escape') END
		ELSE 'DIFFERENT: ' || direct::text || ' ' || by_function::text END
$$;
CREATE FUNCTION kind_and_bytes(value anyelement, is_binary bool DEFAULT false)
RETURNS text STABLE LANGUAGE plpgsql AS $$
BEGIN
	RETURN shown(encode_direct(value, is_binary), encode_by_function(value, is_binary));
END
$$;

-- integers, oid
SELECT kind_and_bytes(v), kind_and_bytes(v, true)
FROM unnest(ARRAY[0, 1, -1, 10, 32767, -32768]::int2[]) v;
SELECT kind_and_bytes(v), kind_and_bytes(v, true)
FROM unnest(ARRAY[0, 9, 10, -10, 99999, 2147483647, -2147483648]) v;
SELECT kind_and_bytes(v), kind_and_bytes(v, true)
FROM unnest(ARRAY[0, -1, 4294967296, 9223372036854775807, -9223372036854775808]::int8[]) v;
SELECT kind_and_bytes(v), kind_and_bytes(v, true)
FROM unnest(ARRAY[0, 2147483648, 4294967295]::oid[]) v;

-- bool, "char"
SELECT kind_and_bytes(v), kind_and_bytes(v, true) FROM unnest(ARRAY[true, false]) v;
SELECT kind_and_bytes(v), kind_and_bytes(v, true)
FROM unnest(ARRAY['a'::"char", ''::"char"]) v;

-- floating point: the shortest form, unless fewer digits are wanted
SELECT kind_and_bytes(v), kind_and_bytes(v, true)
FROM unnest('{0,-0,0.1,1e20,3.4028235e38,1e-45,NaN,Infinity,-Infinity}'::float4[]) v;
SELECT kind_and_bytes(v), kind_and_bytes(v, true)
FROM unnest('{0,-0,0.1,1e15,1e16,0.30000000000000004,1.7976931348623157e308,5e-324,NaN,Infinity,-Infinity}'::float8[]) v;
SET extra_float_digits = 0;
SELECT kind_and_bytes(0.1::float4 + 0.2::float4), kind_and_bytes(0.1::float8 + 0.2::float8);
SET extra_float_digits = -15;
SELECT kind_and_bytes(123.456::float4), kind_and_bytes(123.456::float8);
SET extra_float_digits = 1;

-- numeric: short and long headers, digits left out at both ends
SELECT v, kind_and_bytes(v), kind_and_bytes(v, true)
FROM unnest('{0,0.000,1,-1,10,100,1000,9999,10000,12345.678,-0.00001,0.10,1e8,1e-8,
	100000000.00000001,1e30,NaN,Infinity,-Infinity}'::numeric[]) v;
SELECT kind_and_bytes(1.5::numeric(20, 10)), kind_and_bytes(-12.34::numeric(8, 4), true);
SELECT kind_and_bytes(1e131071::numeric) = 't 131072 1' || repeat('0', 131071) AS longest,
	kind_and_bytes(1e-16383::numeric) = 't 16385 0.' || repeat('0', 16382) || '1' AS smallest;
SELECT kind_and_bytes(1e300::numeric, true), kind_and_bytes(-1e-300::numeric, true);

-- strings
SELECT kind_and_bytes(''::text), kind_and_bytes('abc'::text), kind_and_bytes('abc'::text, true);
SELECT kind_and_bytes('ab'::char(4)), kind_and_bytes('ab'::char(4), true);
SELECT kind_and_bytes('ab  '::varchar(6)), kind_and_bytes('ab'::varchar, true);
SELECT kind_and_bytes('pg_class'::name), kind_and_bytes(repeat('n', 63)::name, true);
SELECT kind_and_bytes('{ "a" :  1 }'::json), kind_and_bytes('[1 ]'::json, true);
SELECT kind_and_bytes(E'tab\there'::text), kind_and_bytes(E'line\nend\\'::text);
SELECT length(encode_direct(repeat('x', 1000000), false)),
	encode_direct(repeat('x', 1000000), false) = encode_by_function(repeat('x', 1000000), false) AS same;

-- stored compressed and with a short header
CREATE TABLE stored (id int, t text, b bytea, j jsonb, n numeric);
INSERT INTO stored VALUES (1, 'short', '\x00ff', '{"a": [1, 2.50]}', 1.50),
	(2, repeat('long ', 2000), decode(repeat('ab', 5000), 'hex'),
	 jsonb_build_object('long', repeat('long ', 2000)), 10 ^ 100::numeric);
SELECT id, is_binary, encode_direct(t, is_binary) = encode_by_function(t, is_binary) AS text,
	encode_direct(b, is_binary) = encode_by_function(b, is_binary) AS bytea,
	encode_direct(j, is_binary) = encode_by_function(j, is_binary) AS jsonb,
	encode_direct(n, is_binary) = encode_by_function(n, is_binary) AS numeric
FROM stored, (VALUES (false), (true)) formats(is_binary) ORDER BY id, is_binary;
DROP TABLE stored;

-- bytea, uuid
SELECT kind_and_bytes(''::bytea), kind_and_bytes('\x00017f80ff'::bytea),
	kind_and_bytes('\x00017f80ff'::bytea, true);
SET bytea_output = 'escape';
SELECT kind_and_bytes('\x00017f80ff5c61'::bytea);
SET bytea_output = 'hex';
SELECT kind_and_bytes('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid),
	kind_and_bytes('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid, true);

-- network addresses
SELECT kind_and_bytes(v) FROM unnest('{0.0.0.0,255.255.255.255,192.168.1.9/24,10.0.0.1/0,::1,fe80::1/64}'::inet[]) v;
SELECT kind_and_bytes(v) FROM unnest('{0.0.0.0/0,10.1.0.0/16,10.1.2.3,fe80::/64}'::cidr[]) v;

-- jsonb: scalars, containers, escapes
SELECT kind_and_bytes(v), kind_and_bytes(v, true)
FROM unnest(ARRAY['null', 'true', 'false', '0', '-1.50', '1e3', '""', '"a"', '[]', '{}',
	'[[]]', '[{}]', '{"": {}}', '[1,[2,[3]]]', '{"b":[null,true,"x"],"a":{"c":false}}',
	'"\"\\\/\b\f\n\r\t\u0001\u001f\u007f"']::jsonb[]) v;
SELECT kind_and_bytes('{"12345678\"12345678\u0002": "1234567\\"}'::jsonb);
-- deeper than the encoder's own walk goes
SELECT n, kind_and_bytes((repeat('[', n) || '1' || repeat(']', n))::jsonb) =
	format('t %s %s1%s', 2 * n + 1, repeat('[', n), repeat(']', n)) AS same
FROM unnest(ARRAY[63, 64, 65, 66, 1000]) n;
-- more elements than have their lengths stored
SELECT substr(kind_and_bytes(jsonb_agg(i)), 8) =
	'[' || string_agg(i::text, ', ') || ']' AS array,
	substr(kind_and_bytes(jsonb_object_agg(10000 + i, repeat('v', i))), 10) =
	'{' || string_agg(format('"%s": "%s"', 10000 + i, repeat('v', i)), ', ') || '}' AS object
FROM generate_series(1, 1000) i;

-- dates and times
SELECT kind_and_bytes(v), kind_and_bytes(v, true)
FROM unnest('{2000-01-01,1999-12-31,0001-01-01,0001-12-31 BC,4714-11-24 BC,
	9999-12-31,10000-01-01,5874897-12-31,infinity,-infinity}'::date[]) v;
-- every day of the 400 years after which the calendar repeats
SELECT count(*), count(*) FILTER (WHERE encode_direct(d, false) <> encode_by_function(d, false)) AS different
FROM (SELECT date '1900-01-01' + i FROM generate_series(0, 146097) i) days(d);
SELECT kind_and_bytes(v), kind_and_bytes(v, true)
FROM unnest('{2000-01-01 00:00:00,1999-12-31 23:59:59.999999,2024-02-29 12:34:56.7,
	0001-01-01 00:00:00 BC,4714-11-24 00:00:00 BC,294276-12-31 23:59:59.999999,
	2000-01-01 00:00:00.00001,infinity,-infinity}'::timestamp[]) v;
SELECT kind_and_bytes(v), kind_and_bytes(v, true)
FROM unnest('{00:00:00,23:59:59.999999,24:00:00,12:00:00.10}'::time[]) v;
SELECT kind_and_bytes(v), kind_and_bytes(v, true)
FROM unnest('{00:00:00+00,12:34:56.5-15:59:59,24:00:00+05:30,01:02:03-00:01}'::timetz[]) v;

-- time zones: both sides of transitions, offsets with seconds, local time
-- before the first day
SET timezone = 'Europe/Berlin';
SELECT kind_and_bytes(v), kind_and_bytes(v, true)
FROM unnest('{2024-03-31 00:59:59.999999+00,2024-03-31 01:00:00+00,
	2024-10-27 00:59:59.999999+00,2024-10-27 01:00:00+00,
	1800-01-01 00:00:00+00,3000-07-01 00:00:00+00,infinity,-infinity}'::timestamptz[]) v;
-- all transitions while the zone's table of them lasts and beyond, each followed
-- by a moment that shares its place in the encoder's table, eight years and a
-- half later
SET timezone = 'Australia/Sydney';
SELECT count(*), count(*) FILTER (WHERE encode_direct(v, false) <> encode_by_function(v, false)) AS different
FROM (
	SELECT (day - extract(dow FROM day)::int + time '02:00') AT TIME ZONE interval '10:00' +
		later * interval '1 second'
	FROM generate_series(1970, 2800) year,
		unnest(ARRAY[make_date(year, 4, 7), make_date(year, 10, 7)]) day,
		unnest(ARRAY[0, 268435456]) later
	ORDER BY day, later) moment(v);
SET timezone = 'Africa/Monrovia';
SELECT kind_and_bytes('1970-01-01 00:00:00+00'::timestamptz),
	kind_and_bytes('1972-06-01 00:00:00+00'::timestamptz);
SET timezone = 'America/St_Johns';
SELECT kind_and_bytes('2024-01-01 00:00:00+00'::timestamptz);
SET timezone = 'Etc/GMT+12';
SELECT kind_and_bytes('0001-01-01 00:00:00+00'::timestamptz),
	kind_and_bytes('4714-11-24 00:00:00+00 BC'::timestamptz);
SET timezone = '<+0330>-3:30';
SELECT kind_and_bytes('2024-01-01 00:00:00+00'::timestamptz);
SET timezone = 'UTC';
SELECT kind_and_bytes('2024-01-01 00:00:00+00'::timestamptz);

-- other styles
SET timezone = 'America/New_York';
SET datestyle = 'SQL, DMY';
SELECT kind_and_bytes('2024-02-29'::date), kind_and_bytes('2024-02-29 12:34:56.78'::timestamp),
	kind_and_bytes('2024-02-29 12:34:56+00'::timestamptz);
SET datestyle = 'Postgres, MDY';
SELECT kind_and_bytes('2024-02-29'::date), kind_and_bytes('2024-02-29 12:34:56.78'::timestamp),
	kind_and_bytes('2024-02-29 12:34:56+00'::timestamptz);
SET datestyle = 'German';
SELECT kind_and_bytes('2024-02-29'::date), kind_and_bytes('2024-02-29 12:34:56.78'::timestamp),
	kind_and_bytes('2024-02-29 12:34:56+00'::timestamptz);
SET datestyle = 'ISO, MDY';

-- intervals
SELECT kind_and_bytes(v), kind_and_bytes(v, true)
FROM unnest('{0,1 year,-1 year,1 mon,14 mons,1 day,-1 day,1 sec,-0.5 sec,100:00:00,
	1 year -1 day 00:00:01,-1 mon 1 day -00:00:01,-1 day 24:00:00.25}'::interval[]) v;
SET intervalstyle = 'iso_8601';
SELECT kind_and_bytes('1 year 2 mons 3 days 04:05:06.7'::interval);
SET intervalstyle = 'postgres';

-- a domain is sent as its type; a type without a direct encoder has none
CREATE DOMAIN positive AS int CHECK (VALUE > 0);
SELECT shown(encode_direct(7::positive, false), encode_by_function(7::positive, false));
SELECT encode_direct('(1,2)'::point, false), encode_direct('{1,2}'::int[], true);
DROP DOMAIN positive;

DROP FUNCTION kind_and_bytes, shown;
DROP EXTENSION pgoutput_ext_test;
