-- pgoutput_ext_peek with prepared transactions

SET client_min_messages = warning;
SELECT current_setting('server_version_num')::int < 150000 AS old \gset
\if :old
\echo PostgreSQL 14 decodes prepared transactions at their commit; its pgoutput has no two_phase.
\quit
\endif
CREATE EXTENSION IF NOT EXISTS pgoutput_ext;
CREATE SCHEMA reader_prepared;
SET search_path = reader_prepared, public;
\pset format unaligned

CREATE TABLE "fullDS" (a int, b text);
ALTER TABLE "fullDS" REPLICA IDENTITY FULL;
CREATE PUBLICATION reader_prepared FOR TABLE "fullDS";
CREATE TABLE slot (name name, plugin name);
INSERT INTO slot VALUES ('reader_pgoutput', 'pgoutput'), ('reader_ext', 'pgoutput_ext');
SELECT plugin, count(pg_create_logical_replication_slot(name, plugin, false, true)) FROM slot GROUP BY plugin ORDER BY plugin;
BEGIN; INSERT INTO "fullDS" VALUES (1); PREPARE TRANSACTION 'reader "1"'; COMMIT PREPARED 'reader "1"';
BEGIN; INSERT INTO "fullDS" VALUES (2); PREPARE TRANSACTION 'reader 2'; ROLLBACK PREPARED 'reader 2';
-- The changes of the one that was rolled back may be sent or not: the server ends it
-- where it reads a catalog.
SELECT name, message, relation, new, detail ->> 'gid' FROM slot, pgoutput_ext_peek(name, NULL, NULL, 'publication_names', 'reader_prepared', 'two_phase', 'true') WITH ORDINALITY
WHERE message <> 'Relation' AND new->>'a' IS DISTINCT FROM '2' ORDER BY name DESC, ordinality;

SELECT count(pg_drop_replication_slot(name)) FROM slot;
DROP PUBLICATION reader_prepared;
DROP SCHEMA reader_prepared CASCADE;
