-- Options together with publications of whole schemas.

SET client_min_messages = warning;
SELECT current_setting('server_version_num')::int < 150000 AS old \gset
\if :old
\echo PostgreSQL 14 has no publications of schemas.
\quit
\endif
CREATE EXTENSION IF NOT EXISTS pgoutput_ext;
CREATE SCHEMA schemas;
SET search_path = schemas, public;
\set SHOW_CONTEXT never

CREATE FUNCTION names(VARIADIC options text[] DEFAULT '{}') RETURNS text LANGUAGE sql AS $$
	SELECT string_agg(DISTINCT replace(relation, 'schemas.', ''), ' ')
	FROM pgoutput_ext_peek('regress_schemas', NULL, NULL,
		VARIADIC ARRAY['proto_version', '1', 'publication_names', 'schemas'] || options)
	WHERE message = 'Insert' $$;

CREATE TABLE t (a int);
CREATE TABLE root (a int PRIMARY KEY) PARTITION BY LIST (a);
CREATE TABLE middle PARTITION OF root FOR VALUES IN (1, 2) PARTITION BY LIST (a);
CREATE TABLE leaf PARTITION OF middle FOR VALUES IN (1);
CREATE TABLE low PARTITION OF root DEFAULT;
CREATE PUBLICATION schemas FOR TABLES IN SCHEMA schemas;
SELECT FROM pg_create_logical_replication_slot('regress_schemas', 'pgoutput_ext');
INSERT INTO root VALUES (0), (1);
INSERT INTO t VALUES (1);
SELECT names();
SELECT names('partition_root', 'always') AS always, names('partition_root', 'never') AS never,
	names('include_tables', 'schemas.*', 'exclude_tables', '*.leaf') AS tables;

-- publication_metadata
SELECT FROM pg_replication_slot_advance('regress_schemas', pg_current_wal_lsn());
BEGIN;
INSERT INTO t VALUES (1);
ALTER PUBLICATION schemas ADD TABLE t;
INSERT INTO t VALUES (2);
ALTER PUBLICATION schemas DROP TABLES IN SCHEMA schemas;
INSERT INTO t VALUES (3);
ALTER PUBLICATION schemas ADD TABLES IN SCHEMA schemas;
INSERT INTO t VALUES (4);
COMMIT;
SELECT new ->> 'a' AS a, detail -> 'content' -> 'publications' -> 0 -> 'kinds' AS kinds
FROM pgoutput_ext_peek('regress_schemas', NULL, NULL, 'proto_version', '1', 'publication_names', 'schemas', 'publication_metadata', 'on')
	WITH ORDINALITY p (lsn, xid, message, relation, old, new, detail, n)
WHERE message IN ('Insert', 'Message') ORDER BY n;

SELECT pg_drop_replication_slot('regress_schemas');
DROP PUBLICATION schemas;
DROP SCHEMA schemas CASCADE;
