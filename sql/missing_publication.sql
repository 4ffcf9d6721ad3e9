-- Option missing_publication: a publication that does not exist as of the
-- change.

SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS pgoutput_ext;
CREATE SCHEMA missing_publication;
SET search_path = missing_publication, public;
\set SHOW_CONTEXT never

CREATE FUNCTION changes(publications text, VARIADIC options text[] DEFAULT '{}') RETURNS TABLE (relation text, new text) LANGUAGE sql AS $$
	SELECT replace(relation, 'missing_publication.', ''), new ->> 'a'
	FROM pgoutput_ext_peek('regress_missing', NULL, NULL,
		VARIADIC ARRAY['proto_version', '1', 'publication_names', publications] || options)
	WHERE message = 'Insert' $$;

CREATE TABLE t (a text PRIMARY KEY);
CREATE TABLE u (a text PRIMARY KEY);
CREATE PUBLICATION mp_always FOR TABLE u;
SELECT FROM pg_create_logical_replication_slot('regress_missing', 'pgoutput_ext');
INSERT INTO t VALUES ('before');
INSERT INTO u VALUES ('before');
CREATE PUBLICATION "MP, late" FOR TABLE t;
INSERT INTO t VALUES ('during');
INSERT INTO u VALUES ('during');
BEGIN;
INSERT INTO t VALUES ('renamed in this');
ALTER PUBLICATION "MP, late" RENAME TO mp_other;
INSERT INTO t VALUES ('renamed');
COMMIT;
ALTER PUBLICATION mp_other RENAME TO "MP, late";
INSERT INTO t VALUES ('named back');
DROP PUBLICATION "MP, late";
INSERT INTO t VALUES ('after');
INSERT INTO u VALUES ('after');

SELECT * FROM changes('mp_always,"MP, late"', 'missing_publication', 'skip');
SELECT * FROM changes('mp_always,"MP, late"', 'missing_publication', 'warn');
SELECT * FROM changes('mp_always,"MP, late"', 'missing_publication', 'error');
\echo :SQLSTATE
SELECT * FROM changes('mp_always', 'missing_publication', 'error');
SELECT * FROM changes('no_such_publication', 'missing_publication', 'skip');
SELECT * FROM changes('no_such_publication,neither', 'missing_publication', 'warn');
-- The hint says since when it exists, and how to get there: what it says, works.
CREATE PUBLICATION mp_now FOR TABLE t;
\set VERBOSITY terse
SELECT count(*) FROM changes('mp_now', 'missing_publication', 'error');
\set VERBOSITY default
SELECT pg_replication_slot_advance('regress_missing', pg_current_wal_lsn()) IS NOT NULL AS moved;
INSERT INTO t VALUES ('now');
SELECT * FROM changes('mp_now', 'missing_publication', 'error');

SELECT pg_drop_replication_slot('regress_missing');
DROP PUBLICATION mp_always, mp_now;
DROP SCHEMA missing_publication CASCADE;
