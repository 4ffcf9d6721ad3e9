-- type_metadata: the frame behind each Type, and again when a type changed

SET client_min_messages = warning;
CREATE SCHEMA metadata_type;
SET search_path = metadata_type, public;
\pset format unaligned

-- All messages of a slot: Message frames with their content, others by type.
CREATE FUNCTION messages(slot name, VARIADIC options text[],
	OUT n bigint, OUT type text, OUT flags int, OUT prefix text, OUT content jsonb)
RETURNS SETOF record LANGUAGE sql AS $$
	SELECT ordinality, encode(substr(data, 1, 1), 'escape'),
		CASE WHEN z > 0 THEN get_byte(data, 1) END,
		CASE WHEN z > 0 THEN encode(substr(data, 11, z - 1), 'escape') END,
		CASE WHEN z > 0 THEN convert_from(substr(data, 15 + z), getdatabaseencoding())::jsonb END
	FROM pg_logical_slot_peek_binary_changes(slot, NULL, NULL, VARIADIC ARRAY['proto_version', '1', 'empty_transactions', 'skip'] || options)
		WITH ORDINALITY,
		LATERAL (SELECT CASE get_byte(data, 0) WHEN ascii('M') THEN position('\x00' in substr(data, 11)) END) s (z) $$;

-- A reference to a type, and a type, as the catalogs have them.
CREATE FUNCTION reference(type oid, typmod int) RETURNS jsonb LANGUAGE sql SET search_path = '' AS
	'SELECT jsonb_build_object(''id'', type::bigint, ''type'', format_type(type, typmod), ''typmod'', typmod)';
CREATE FUNCTION expected(type regtype) RETURNS jsonb LANGUAGE sql AS $$
	SELECT jsonb_strip_nulls(jsonb_build_object(
		'id', t.oid::bigint, 'schema', nspname, 'name', typname,
		'kind', CASE typtype WHEN 'c' THEN 'composite' WHEN 'd' THEN 'domain' WHEN 'e' THEN 'enum' WHEN 'r' THEN 'range'
				WHEN 'm' THEN 'multirange' WHEN 'b' THEN CASE typsubscript::regproc::text WHEN 'array_subscript_handler' THEN 'array' ELSE 'base' END END,
		'element', CASE WHEN typelem <> 0 THEN reference(typelem, -1) END,
		'base', CASE WHEN typtype = 'd' THEN reference(typbasetype, typtypmod) END,
		'not_null', CASE WHEN typtype = 'd' THEN typnotnull END,
		'labels', CASE WHEN typtype = 'e' THEN coalesce((SELECT jsonb_agg(enumlabel ORDER BY enumsortorder) FROM pg_enum WHERE enumtypid = t.oid), '[]') END,
		'subtype', (SELECT reference(rngsubtype, -1) FROM pg_range WHERE rngtypid = t.oid),
		'range', (SELECT reference(rngtypid, -1) FROM pg_range WHERE rngmultitypid = t.oid),
		'attributes', CASE WHEN typtype = 'c' THEN coalesce((SELECT jsonb_agg(jsonb_build_object('name', attname) || reference(atttypid, atttypmod) ORDER BY attnum)
			FROM pg_attribute WHERE attrelid = typrelid AND attnum > 0 AND NOT attisdropped), '[]') END))
	FROM pg_type t JOIN pg_namespace n ON n.oid = typnamespace WHERE t.oid = type $$;

CREATE TYPE mood AS ENUM ('sad', 'it''s "ok"\');
CREATE TYPE empty AS ENUM ();
CREATE DOMAIN name20 AS varchar(20) NOT NULL;
CREATE DOMAIN short AS name20 CHECK (length(value) < 5);
CREATE DOMAIN moods AS mood[];
CREATE TYPE inner_pair AS (m mood, n numeric(6,2));
CREATE TYPE "Outer Pair" AS (gone int, i inner_pair, is_ inner_pair[], s short, "T t" timestamptz(3));
ALTER TYPE "Outer Pair" DROP ATTRIBUTE gone;
CREATE TYPE nothing AS ();
CREATE TYPE span AS RANGE (subtype = short);
CREATE TABLE rowtype (a int, m mood);
CREATE TABLE plain (id int PRIMARY KEY, m mood, m2 mood, ms moods, e empty, p "Outer Pair", ps inner_pair[],
	n nothing, s span, mr span_multirange, r rowtype, c information_schema.cardinal_number, x int8range);
CREATE PUBLICATION metadata_type FOR TABLE plain WITH (publish = 'insert');
SELECT count(pg_create_logical_replication_slot('metadata_type', 'pgoutput_ext'));
INSERT INTO plain VALUES (1);

-- Behind each Type its own frame, then those of what it is made of that are not
-- known yet; each as the catalogs have it.
SELECT type, prefix, flags, content->>'kind' AS kind, (content->>'id')::oid::regtype AS name, content = expected((content->>'id')::oid::regtype) AS right
FROM messages('metadata_type', 'publication_names', 'metadata_type', 'type_metadata', 'on') ORDER BY n;
-- The same to be read.
SELECT jsonb_path_query_array(content, '$.**.type') AS types, jsonb_path_query_array(content, '$.**.typmod') AS typmods,
	content - ARRAY['id', 'schema', 'base', 'element', 'range', 'subtype', 'attributes'] AS rest, jsonb_path_query_array(content, '$.attributes[*].name') AS attributes
FROM messages('metadata_type', 'publication_names', 'metadata_type', 'type_metadata', 'on') WHERE type = 'M' ORDER BY n;
SELECT string_agg(type, '' ORDER BY n) FROM messages('metadata_type', 'publication_names', 'metadata_type', 'type_metadata', 'on', 'exclude_columns', '*.*.p, *.*.ms, *.*.m2, *.*.e');
SELECT string_agg(type, '' ORDER BY n) FROM messages('metadata_type', 'publication_names', 'metadata_type');
SELECT FROM pg_replication_slot_advance('metadata_type', pg_current_wal_lsn());

-- Types that change, with no Relation or Type to say so.
CREATE TABLE enums (a int, m mood);
CREATE TABLE composites (a int, p "Outer Pair"[]);
CREATE TABLE others (a int, b text);
CREATE PUBLICATION metadata_type_changes FOR TABLE enums, composites, others WITH (publish = 'insert');
CREATE VIEW changes AS SELECT n, type, content->>'name' AS name,
	coalesce(content->'labels', jsonb_path_query_array(content, '$.attributes[*].name')) AS parts
FROM messages('metadata_type', 'publication_names', 'metadata_type_changes', 'type_metadata', 'on') WHERE type NOT IN ('B', 'C');
INSERT INTO enums VALUES (1);
INSERT INTO composites VALUES (1);
ALTER TYPE mood ADD VALUE 'new' BEFORE 'sad';
INSERT INTO others VALUES (2);
INSERT INTO composites VALUES (2);
INSERT INTO enums VALUES (2, 'new');
INSERT INTO enums VALUES (3, 'new');
INSERT INTO composites VALUES (3);
BEGIN;
INSERT INTO enums VALUES (4);
ALTER TYPE mood RENAME VALUE 'new' TO 'newer';
INSERT INTO enums VALUES (5);
ALTER TYPE mood RENAME VALUE 'newer' TO 'newest';
ALTER TYPE mood RENAME VALUE 'newest' TO 'newer';
INSERT INTO enums VALUES (6);
SAVEPOINT s;
ALTER TYPE mood RENAME VALUE 'newer' TO 'lost';
INSERT INTO enums VALUES (7);
ROLLBACK TO s;
INSERT INTO enums VALUES (8);
COMMIT;
BEGIN;
ALTER TYPE mood RENAME VALUE 'newer' TO 'lost';
INSERT INTO enums VALUES (9);
ROLLBACK;
INSERT INTO enums VALUES (10);
ALTER TYPE "Outer Pair" ADD ATTRIBUTE added int CASCADE;
INSERT INTO enums VALUES (11);
INSERT INTO composites VALUES (4);
ALTER TYPE inner_pair RENAME ATTRIBUTE n TO renamed CASCADE;
INSERT INTO composites VALUES (5);
ALTER TYPE inner_pair RENAME ATTRIBUTE renamed TO n CASCADE;
ALTER TYPE inner_pair RENAME ATTRIBUTE m TO changed CASCADE;
INSERT INTO composites VALUES (6);
-- a change of other types, and one that leaves the type as it was
CREATE TYPE other AS ENUM ('a');
ALTER TYPE other ADD VALUE 'b';
ALTER TYPE mood RENAME TO temper;
ALTER TYPE temper RENAME TO mood;
CREATE TABLE another (m mood);
INSERT INTO enums VALUES (12);
INSERT INTO composites VALUES (7);
-- names are part of it
ALTER TYPE mood RENAME TO temper;
INSERT INTO enums VALUES (13);
SELECT type, name, parts FROM changes ORDER BY n;
-- As of the change: what is read later is the last.
SELECT type, content = expected((content->>'id')::oid::regtype) AS right
FROM messages('metadata_type', 'publication_names', 'metadata_type_changes', 'type_metadata', 'on') WHERE content->>'name' = 'temper';

-- A schema's name is part of it, too.
CREATE SCHEMA metadata_type_moved;
ALTER TYPE temper SET SCHEMA metadata_type_moved;
INSERT INTO enums VALUES (14);
ALTER SCHEMA metadata_type_moved RENAME TO metadata_type_renamed;
INSERT INTO enums VALUES (15);
SELECT content->>'schema' AS schema
FROM messages('metadata_type', 'publication_names', 'metadata_type_changes', 'type_metadata', 'on') WHERE content->>'name' = 'temper';
ALTER TYPE metadata_type_renamed.temper SET SCHEMA metadata_type;
DROP SCHEMA metadata_type_renamed;

-- A key, and a partition sent as its root.
SELECT FROM pg_replication_slot_advance('metadata_type', pg_current_wal_lsn());
CREATE TABLE root (m temper PRIMARY KEY) PARTITION BY LIST (m);
CREATE TABLE leaf PARTITION OF root FOR VALUES IN ('sad', 'newer');
CREATE PUBLICATION metadata_type_root FOR TABLE root WITH (publish_via_partition_root);
INSERT INTO root VALUES ('sad');
ALTER TYPE temper ADD VALUE 'last';
DELETE FROM root;
SELECT type, content->'labels' AS labels
FROM messages('metadata_type', 'publication_names', 'metadata_type_root', 'type_metadata', 'on', 'binary', 'on') ORDER BY n;

SELECT pg_drop_replication_slot('metadata_type');
DROP PUBLICATION metadata_type, metadata_type_changes, metadata_type_root;
DROP SCHEMA metadata_type CASCADE;
