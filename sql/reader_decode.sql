-- pgoutput_ext_decode and pgoutput_ext_decode_stream, on messages written by
-- hand from the protocol documentation

SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS pgoutput_ext;
CREATE SCHEMA reader_decode;
SET search_path = reader_decode, public;
-- A message written again, where the module for tests is installed; elsewhere itself, if it
-- can be read.
SELECT count(*) > 0 AS has_module FROM pg_available_extensions WHERE name = 'pgoutput_ext_test' \gset
\if :has_module
CREATE EXTENSION pgoutput_ext_test SCHEMA reader_decode;
\else
CREATE FUNCTION reencode(bytea, boolean) RETURNS bytea LANGUAGE sql
AS 'SELECT CASE WHEN pgoutput_ext_decode($1, $2) IS NOT NULL THEN $1 END';
\endif
\t on
\pset format unaligned

-- Every message, in the order of the documentation. 2026-11-30 12:34:56.789012
-- UTC is 0003047c67f66614 microseconds after 2000-01-01.
CREATE TABLE message (number serial, streaming boolean, bytes bytea);
INSERT INTO message (streaming, bytes) VALUES
	(false, '\x42 00000001f00000ff 0003047c67f66614 fffffff0'),
	(false, '\x4d 00 0000000190000010 7000 00000002 c3bc'),
	(true, '\x4d 00000007 01 0000000190000010 70667800 00000000'),
	(false, '\x43 00 0000000190000001 ffffffffffffffff 0003047c67f66614'),
	(false, '\x4f 0000000190000002 6f726967696e00'),
	(false, '\x52 00004001 7300 7400 64 0002 01 696400 00000017 ffffffff 00 7600 00000413 00000018'),
	(true, '\x52 00000007 ffffffff 00 7400 66 0000'),
	(false, '\x59 00004002 7300 6d6f6f6400'),
	(true, '\x59 00000007 00004002 00 6d6f6f6400'),
	(false, '\x49 00004001 4e 0003 74 00000001 31 6e 62 00000002 00ff'),
	(true, '\x49 00000007 00004001 4e 0001 75'),
	(false, '\x55 00004001 4e 0001 74 00000000'),
	(false, '\x55 00004001 4b 0002 74 00000001 31 6e 4e 0002 74 00000001 32 75'),
	(true, '\x55 00000007 00004001 4f 0001 6e 4e 0001 6e'),
	(false, '\x44 00004001 4b 0001 74 00000001 31'),
	(true, '\x44 00000007 00004001 4f 0001 6e'),
	(false, '\x54 00000002 03 00004001 00004002'),
	(true, '\x54 00000007 00000000 00'),
	(false, '\x53 00000007 01'),
	(true, '\x45'),
	(false, '\x63 00000007 00 0000000190000001 0000000190000002 0003047c67f66614'),
	(false, '\x41 00000007 00000008'),
	(false, '\x41 00000007 00000008 0000000190000001 0003047c67f66614'),
	(false, '\x62 0000000190000001 0000000190000002 0003047c67f66614 00000007 67696400'),
	(false, '\x50 00 0000000190000001 0000000190000002 0003047c67f66614 00000007 67696400'),
	(false, '\x4b 00 0000000190000001 0000000190000002 0003047c67f66614 00000007 67696400'),
	(false, '\x72 00 0000000190000001 0000000190000002 0003047c67f66614 8000000000000000 00000007 67696400'),
	(false, '\x70 00 0000000190000001 0000000190000002 0000000000000000 00000007 00');

-- the content of the second is text in UTF8 alone
SELECT jsonb_pretty(pgoutput_ext_decode(bytes, streaming)) FROM message
WHERE number <> 2 ORDER BY number;
SELECT pgoutput_ext_decode('\x4d 00 0000000190000010 7000 00000004 74657874');
SELECT pgoutput_ext_decode('\x4d 00 0000000190000010 7000 00000002 00ff');

-- Content is shown as JSON for our own prefix alone, and where it is JSON.
CREATE FUNCTION content(prefix text, content text) RETURNS jsonb LANGUAGE sql AS $$
	SELECT pgoutput_ext_decode('\x4d010000000190000010'::bytea || convert_to(prefix, 'SQL_ASCII') ||
		'\x00' || int4send(length(content)) || convert_to(content, 'SQL_ASCII')) -> 'content' $$;
SELECT content('pgoutput_ext.x', c), content('pgoutput_exta', c) FROM unnest(ARRAY[
	'{"b": [1, -2.50, 1e3, true, false, null, "\u0041\n"], "a": {"a": {}, "b": []}}',
	'[]', ' [ { } ] ', '{"a": 1, "a": 2}',
	'', '1', '"a"', '{', '{"a"}', '{"a": 1,}', '[1]]', '[01]', '[1.]', '[tru]', '["\u0000"]',
	'["\ud800"]', '["\x"]', '[1e999]', '{1: 2}', E'["\t"]']) WITH ORDINALITY c (c, n) ORDER BY n;
-- nested as deep as is shown, and deeper
SELECT jsonb_typeof(content('pgoutput_ext.x', repeat('[', n) || repeat(']', n)))
FROM (VALUES (64), (65), (100000)) v (n);

-- What the parser found is all there is.
SELECT count(*) FROM message WHERE reencode(bytes, streaming) = bytes;

-- Errors say where and what.
\set VERBOSITY verbose
\set SHOW_CONTEXT never
\pset format aligned
CREATE FUNCTION error(bytes bytea, streaming boolean DEFAULT false) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	state text; message text; detail text;
BEGIN
	RETURN pgoutput_ext_decode(bytes, streaming);
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL;
	RETURN concat_ws(' | ', state, message, nullif(detail, ''));
END $$;
SELECT error(b, s) FROM (VALUES
	(1, '\x'::bytea, false), (2, '\x5a', false), (3, '\x00', false), (4, '\x42', false),
	(5, '\x42 0000000190000001 0000000190000002 000000', false),
	(6, '\x42 0000000190000001 0000000190000002 00000003 00', false),
	(7, '\x43 01 0000000190000001 0000000190000002 0000000190000003', false),
	(8, '\x4d 02 0000000190000010 7000 00000000', false),
	(9, '\x4d 00 0000000190000010 70', false),
	(10, '\x4d 00 0000000190000010 7000 00000002 70', false),
	(11, '\x4d 00 0000000190000010 7000 ffffffff 70', false),
	(12, '\x52 00004001 7300 7400 78 0000', false),
	(13, '\x52 00004001 7300 7400 64 ffff 02', false),
	(14, '\x52 00004001 7300 7400 64 0001 01 6964', false),
	(15, '\x49 00004001 4f 0000', false),
	(16, '\x49 00004001 4e 0001 78', false),
	(17, '\x49 00004001 4e 0001 74 7fffffff 31', false),
	(18, '\x49 00004001 4e ffff', false),
	(19, '\x55 00004001 4b 0000 4b 0000', false),
	(20, '\x44 00004001 4e 0000', false),
	(21, '\x54 40000000 00 00004001', false),
	(22, '\x54 00000001 04 00004001', false),
	(23, '\x53 00000007 02', false),
	(24, '\x45 00', false),
	(25, '\x41 00000007 00000008 0000000190000001', false),
	(26, '\x49 00004001 4e 0000', true)
) v (n, b, s) ORDER BY n;
\unset VERBOSITY
\unset SHOW_CONTEXT

-- No beginning of a message is a message, but for a Stream Abort, and nothing
-- may follow one.
SELECT number, n, left(error(substr(bytes, 1, n), streaming), 5)
FROM message, generate_series(0, length(bytes) - 1) n
WHERE error(substr(bytes, 1, n), streaming) NOT LIKE '22P03 | malformed %';
SELECT number, error(bytes || '\x00'::bytea, streaming) FROM message
WHERE error(bytes || '\x00'::bytea, streaming) NOT LIKE '22P03 | malformed % | %, found %';

-- Whatever byte stands where, it is an error or the same bytes come back.
DO $$
DECLARE
	m message;
	changed bytea;
	accepted int := 0;
	refused int := 0;
BEGIN
	FOR m IN SELECT * FROM message LOOP
		FOR at IN 0 .. length(m.bytes) - 1 LOOP
			FOR byte IN 0 .. 255 BY 5 LOOP
				changed := set_byte(m.bytes, at, byte);
				BEGIN
					IF reencode(changed, m.streaming) <> changed THEN
						RAISE 'message % changed to % comes back as %', m.number, changed, reencode(changed, m.streaming);
					END IF;
					accepted := accepted + 1;
				EXCEPTION WHEN invalid_binary_representation OR character_not_in_repertoire THEN
					refused := refused + 1;
				END;
				BEGIN
					PERFORM pgoutput_ext_decode(changed, m.streaming);
				EXCEPTION WHEN invalid_binary_representation OR character_not_in_repertoire THEN
				END;
			END LOOP;
		END LOOP;
	END LOOP;
	RAISE INFO '% bytes: % of the changed messages accepted or refused',
		(SELECT sum(length(bytes)) FROM message), accepted + refused;
	IF accepted < 1000 OR refused < 1000 THEN
		RAISE 'only % were accepted and % refused', accepted, refused;
	END IF;
END $$;

-- A sequence, with the names that its Relations give.
\pset format unaligned
CREATE FUNCTION relation(oid text, name text, columns text[]) RETURNS bytea LANGUAGE sql AS $$
	SELECT decode('52' || oid, 'hex') || 's'::bytea || '\x00' || name::bytea || '\x0064' ||
		int2send(array_length(columns, 1)::int2) || string_agg(('\x' || c)::bytea, '' ORDER BY n)
	FROM unnest(columns) WITH ORDINALITY u (c, n) $$;
SELECT * FROM pgoutput_ext_decode_stream(ARRAY[
	'\x42 00000001f00000ff 0003047c67f66614 00000007',
	'\x59 00004002 7300 4d6f6f6400',			-- a type of our own: s."Mood"
	'\x59 00004003 00 626f6f6c00',				-- a domain over bool
	relation('00004001', 'a b', ARRAY[
		'01 696400 00000017 ffffffff',			-- id integer, key
		'00 6e6e00 000006a4 000a0006',			-- nn numeric(10,2)
		'00 6600 000002bd ffffffff',			-- f double precision
		'00 6a00 00000eda ffffffff',			-- j jsonb
		'00 6d00 00004002 ffffffff',			-- m s."Mood"
		'00 7900 00004003 00000005',			-- y, the domain
		'00 7400 00000019 ffffffff']),			-- t text
	'\x49 00004001 4e 0007 740000000131 7400000004312e3130 74000000034e614e 74000000077b2261223a317d 74000000026f6b 740000000174 6e',
	'\x49 00004001 4e 0007 740000000132 74000000034e614e 7400000005312e352d31 740000000131 74000000026f6b 740000000166 740000000131',
	'\x55 00004001 4e 0007 740000000131 7400000004302e3030 74000000022d30 74000000046e756c6c 6e 6e 75',
	'\x55 00004001 4b 0007 740000000131 6e 6e 6e 6e 6e 6e 4e 0007 740000000133 6e 6e 6e 6e 6e 75',
	'\x44 00004001 4f 0007 6200000004 00000003 6e 6e 6e 6e 6e 740000000178',
	'\x54 00000002 01 00004001 00004001',
	'\x43 00 0000000190000001 0000000190000002 0003047c67f66614']::bytea[]);

-- What a streamed transaction announces is its own until it is committed.
CREATE FUNCTION stream_relation(xid text, name text) RETURNS bytea LANGUAGE sql AS $$
	SELECT decode('52' || xid || '00004001', 'hex') || 's'::bytea || '\x00' || name::bytea ||
		'\x0064 0001 01 696400 00000017 ffffffff' $$;
CREATE FUNCTION names(messages bytea[], streaming boolean DEFAULT false) RETURNS SETOF text LANGUAGE sql AS $$
	SELECT concat_ws(' ', message, relation, detail ->> 'xid')
	FROM pgoutput_ext_decode_stream(messages, streaming) ORDER BY number $$;
SELECT names(ARRAY[
	relation('00004001', 'before', ARRAY['01 696400 00000017 ffffffff']),
	'\x53 00000007 01', stream_relation('00000007', 'by_7'),
	'\x49 00000007 00004001 4e 0001 6e', '\x45',
	'\x49 00004001 4e 0001 6e',
	'\x53 00000008 01', '\x49 00000008 00004001 4e 0001 6e',
	stream_relation('00000009', 'by_8'), '\x49 00000009 00004001 4e 0001 6e', '\x45',
	'\x53 00000007 00', '\x49 00000007 00004001 4e 0001 6e', '\x45',
	'\x41 00000008 00000009',
	'\x53 00000008 00', '\x49 00000008 00004001 4e 0001 6e', '\x45',
	'\x63 00000007 00 0000000190000001 0000000190000002 0003047c67f66614',
	'\x49 00004001 4e 0001 6e',
	'\x41 00000008 00000008',
	'\x49 00004001 4e 0001 6e']::bytea[]);
SELECT names(ARRAY[stream_relation('00000007', 't'), '\x49 00000007 00004001 4e 0001 6e', '\x45',
	'\x49 00004001 4e 0001 6e']::bytea[], true);

-- Many relations in one stream, each announced twice: committed they are known to all, aborted to none.
CREATE FUNCTION many(first int, last int, xid text, name text) RETURNS bytea[] LANGUAGE sql AS $$
	SELECT array_agg(decode('52' || xid || lpad(to_hex(i), 8, '0'), 'hex') || 's'::bytea || '\x00' || (name || i)::bytea ||
		'\x0064 0001 01 696400 00000017 ffffffff' ORDER BY i) FROM generate_series(first, last) i $$;
CREATE FUNCTION rows_of(first int, last int) RETURNS bytea[] LANGUAGE sql AS $$
	SELECT array_agg(decode('49' || lpad(to_hex(i), 8, '0') || '4e00016e', 'hex') ORDER BY i) FROM generate_series(first, last) i $$;
CREATE FUNCTION streamed(ending bytea) RETURNS bytea[] LANGUAGE sql AS $$
	SELECT many(16001, 18000, '', 'before') || '\x53 00000007 01'::bytea || many(16001, 17000, '00000007', 'old') ||
		many(16001, 17000, '00000007', 'new') || '\x45'::bytea || ending || rows_of(16001, 18000) $$;
SELECT what, count(*), min(relation), max(relation) FROM (VALUES
		('committed', '\x63 00000007 00 0000000190000001 0000000190000002 0003047c67f66614'::bytea),
		('aborted', '\x41 00000007 00000007'), ('open', '\x41 00000007 00000008')) v (what, ending),
	pgoutput_ext_decode_stream(streamed(ending)) r
WHERE message = 'Insert' GROUP BY what, relation ~ 'new', relation ~ 'old' ORDER BY what, min(relation);

-- Sequences that cannot be.
SELECT names('{"\\x4900004001 4e 0001 6e"}');
SELECT names('{"\\x45"}');
SELECT names('{"\\x530000000701","\\x530000000701"}');
SELECT names(ARRAY['\x45', NULL]::bytea[], true);
SELECT names(ARRAY[relation('00004001', 't', ARRAY['01 696400 00000017 ffffffff']), '\x49 00004001 4e 0002 6e 6e'::bytea]);
SELECT names(ARRAY[relation('00004001', 't', ARRAY['01 696400 00000017 ffffffff', '01 696400 00000017 ffffffff'])]);
SELECT names(ARRAY['\x5200004001730074007800'::bytea]);
SELECT names('{}'), names(NULL);

-- A stranger may use them, and they depend on no setting.
SET DateStyle = 'German';
SET TimeZone = 'Asia/Kolkata';
SELECT pgoutput_ext_decode(bytes) FROM message WHERE number = 1;
SELECT proname, provolatile, proparallel, proisstrict FROM pg_proc
WHERE proname ~ '^pgoutput_ext_(check|decode|decode_stream|get|peek)$' AND has_function_privilege('public', oid, 'EXECUTE')
ORDER BY proname;

DROP SCHEMA reader_decode CASCADE;
