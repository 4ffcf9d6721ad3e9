-- Option missing_identity: UPDATEs and DELETEs without a key that the client
-- could use.

SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS pgoutput_ext;
CREATE SCHEMA identity_policy;
SET search_path = identity_policy, public;
\set SHOW_CONTEXT never

CREATE FUNCTION changes(VARIADIC options text[] DEFAULT '{}') RETURNS TABLE (message text, relation text, old jsonb, new jsonb)
LANGUAGE sql AS $$
	SELECT message, relation, old, new
	FROM pgoutput_ext_peek('regress_identity_policy', NULL, NULL,
		VARIADIC ARRAY['proto_version', '1', 'publication_names', 'identity_policy'] || options)
	WHERE message IN ('Insert', 'Update', 'Delete') $$;
CREATE FUNCTION next() RETURNS void LANGUAGE sql AS $$
	SELECT pg_replication_slot_advance('regress_identity_policy', pg_current_wal_lsn()) $$;

-- The server refuses to change rows without a replica identity while that is
-- published, but for a statement that was running already (see the TAP tests).
CREATE TABLE none (a int, b int);
CREATE TABLE key (a int PRIMARY KEY, b int);
CREATE TABLE index (a int NOT NULL, b int);
CREATE UNIQUE INDEX index_index ON index (a);
ALTER TABLE index REPLICA IDENTITY USING INDEX index_index;
CREATE TABLE "full" (a int, b int);
ALTER TABLE "full" REPLICA IDENTITY FULL;
CREATE TABLE nothing (a int PRIMARY KEY, b int);
ALTER TABLE nothing REPLICA IDENTITY NOTHING;
CREATE PUBLICATION identity_policy FOR TABLE key, index, "full";
SELECT FROM pg_create_logical_replication_slot('regress_identity_policy', 'pgoutput_ext');

-- with a key there is nothing to say
INSERT INTO key VALUES (1, 0);
INSERT INTO index VALUES (1, 0);
INSERT INTO "full" VALUES (1, 0);
UPDATE key SET b = 1;
UPDATE key SET a = 2;
UPDATE index SET b = 1;
UPDATE index SET a = 2;
UPDATE "full" SET b = 1;
DELETE FROM key;
DELETE FROM index;
DELETE FROM "full";
SELECT * FROM changes('missing_identity', 'error');

-- A publication of inserts alone; INSERTs need no key.
SELECT FROM next();
CREATE PUBLICATION identity_policy_inserts FOR TABLE none, nothing WITH (publish = 'insert');
INSERT INTO none VALUES (1, 0), (2, 0);
INSERT INTO nothing VALUES (1, 0);
UPDATE none SET b = 1;
DELETE FROM none;
SELECT * FROM changes('missing_identity', 'error', 'exclude_tables', '*.*');
SELECT message, relation, new FROM pgoutput_ext_peek('regress_identity_policy', NULL, NULL,
	'proto_version', '1', 'publication_names', 'identity_policy_inserts', 'missing_identity', 'error') WHERE message <> 'Begin' AND message <> 'Commit';
DROP PUBLICATION identity_policy_inserts;

-- What it lets through are changes of a partition that logs another key than
-- the root has, as which the change is announced.
SELECT FROM next();
CREATE TABLE root (a int, b int, PRIMARY KEY (a)) PARTITION BY RANGE (a);
CREATE TABLE leaf PARTITION OF root FOR VALUES FROM (1) TO (10);
CREATE TABLE leaf_full PARTITION OF root FOR VALUES FROM (10) TO (20);
CREATE TABLE leaf_index PARTITION OF root FOR VALUES FROM (20) TO (30);
ALTER TABLE leaf_full REPLICA IDENTITY FULL;
ALTER TABLE leaf_index ALTER b SET NOT NULL;
CREATE UNIQUE INDEX leaf_index_index ON leaf_index (b);
ALTER TABLE leaf_index REPLICA IDENTITY USING INDEX leaf_index_index;
ALTER PUBLICATION identity_policy SET TABLE root;
ALTER PUBLICATION identity_policy SET (publish_via_partition_root);
INSERT INTO root VALUES (1, 0), (10, 0), (20, 0);
UPDATE root SET b = 1 WHERE a < 20;
DELETE FROM root WHERE a < 20;
-- the whole row has the root's key, too
SELECT * FROM changes('missing_identity', 'error');
-- b is logged, a is what the client needs
UPDATE root SET b = 1 WHERE a = 20;
UPDATE root SET a = 21 WHERE a = 20;
DELETE FROM root WHERE a = 21;
SELECT * FROM changes('missing_identity', 'skip');
SELECT * FROM changes('missing_identity', 'warn');
SELECT * FROM changes('missing_identity', 'error');
\echo :SQLSTATE
-- under its own name it has what it needs
SELECT * FROM changes('missing_identity', 'error', 'partition_root', 'never', 'include_tables', '*.leaf_index');
-- not published, not reported
SELECT * FROM changes('missing_identity', 'error', 'exclude_tables', '*.root');

-- the same of a DELETE
SELECT FROM next();
INSERT INTO root VALUES (20, 0);
DELETE FROM root;
SELECT * FROM changes('missing_identity', 'error');

-- The identity is that at the time of the change.
SELECT FROM next();
ALTER TABLE leaf_index REPLICA IDENTITY DEFAULT;
INSERT INTO root VALUES (20, 0);
UPDATE root SET b = 2;
ALTER TABLE leaf_index REPLICA IDENTITY FULL;
UPDATE root SET b = 3;
ALTER TABLE root REPLICA IDENTITY FULL;
UPDATE root SET b = 4;
SELECT * FROM changes('missing_identity', 'error');
ALTER TABLE leaf_index REPLICA IDENTITY DEFAULT;
UPDATE root SET b = 5;
SELECT * FROM changes('missing_identity', 'error');
SELECT * FROM changes('missing_identity', 'warn');
ALTER TABLE root REPLICA IDENTITY DEFAULT;
SELECT FROM next();
UPDATE root SET b = 6;
SELECT * FROM changes('missing_identity', 'error');

-- A key that is a generated column, and not sent. (18 lets it be changed only if
-- it is published.)
SELECT FROM next();
CREATE TABLE generated (a int, k int GENERATED ALWAYS AS (a * 2) STORED PRIMARY KEY);
ALTER PUBLICATION identity_policy SET TABLE generated;
DO $$
BEGIN
	IF current_setting('server_version_num')::int >= 180000 THEN
		ALTER PUBLICATION identity_policy SET (publish_generated_columns = stored);
	END IF;
END $$;
INSERT INTO generated VALUES (1);
DELETE FROM generated;
SELECT * FROM changes('missing_identity', 'error', 'generated_columns', 'stored');
SELECT * FROM changes('missing_identity', 'skip', 'generated_columns', 'none');
SELECT * FROM changes('missing_identity', 'error', 'generated_columns', 'none');

SELECT pg_drop_replication_slot('regress_identity_policy');
DROP PUBLICATION identity_policy;
DROP SCHEMA identity_policy CASCADE;
