-- Options include_origins and exclude_origins.

SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS pgoutput_ext;
CREATE SCHEMA origins;
SET search_path = origins, public;
\set SHOW_CONTEXT never

CREATE FUNCTION sent(VARIADIC options text[] DEFAULT '{}') RETURNS text LANGUAGE sql AS $$
	SELECT string_agg(CASE message
			WHEN 'Begin' THEN '[' WHEN 'Commit' THEN ']'
			WHEN 'Insert' THEN new ->> 'a' WHEN 'Message' THEN detail ->> 'prefix' WHEN 'Truncate' THEN 'truncate'
			ELSE message || ' ' || (detail ->> 'name') END, ' ' ORDER BY n)
	FROM pgoutput_ext_peek('regress_origins', NULL, NULL,
			VARIADIC ARRAY['proto_version', '1', 'publication_names', 'origins', 'messages', 'on'] || options
				|| CASE WHEN 'empty_transactions' = ANY (options) THEN '{}'::text[] ELSE '{empty_transactions,skip}' END)
		WITH ORDINALITY p (lsn, xid, message, relation, old, new, detail, n)
	WHERE message <> 'Relation' $$;

CREATE TABLE t (a text);
CREATE PUBLICATION origins FOR TABLE t;
SELECT FROM pg_replication_origin_create('regress_origin_a');
SELECT FROM pg_replication_origin_create('regress origin, b');
SELECT FROM pg_replication_origin_create('regress_origin_' || repeat('long', 20));
SELECT FROM pg_create_logical_replication_slot('regress_origins', 'pgoutput_ext');

INSERT INTO t VALUES ('local1');
SELECT FROM pg_replication_origin_session_setup('regress_origin_a');
INSERT INTO t VALUES ('a1');
-- a session's origin that comes in the middle is that of the rest
SELECT FROM pg_replication_origin_session_reset();
BEGIN;
INSERT INTO t VALUES ('local2');
SELECT FROM pg_replication_origin_session_setup('regress_origin_a');
INSERT INTO t VALUES ('a2');
COMMIT;
-- with the LSN and time of the transaction there
BEGIN;
SELECT FROM pg_replication_origin_xact_setup('0/1234', '2026-11-30 00:00+00');
INSERT INTO t VALUES ('a3');
SELECT FROM pg_logical_emit_message(true, 'message-a3', '');
TRUNCATE t;
COMMIT;
SELECT FROM pg_replication_origin_session_reset();
SELECT FROM pg_replication_origin_session_setup('regress origin, b');
INSERT INTO t VALUES ('b1');
SELECT FROM pg_replication_origin_session_reset();
SELECT FROM pg_replication_origin_session_setup('regress_origin_' || repeat('long', 20));
INSERT INTO t VALUES ('long1');
SELECT FROM pg_replication_origin_session_reset();
INSERT INTO t VALUES ('local3');

\pset tuples_only
SELECT sent();
SELECT sent('origin', 'none');
SELECT sent('include_origins', '""');
SELECT sent('exclude_origins', '""');
SELECT sent('include_origins', 'regress_origin_a');
SELECT sent('include_origins', '"", regress_origin_a');
SELECT sent('exclude_origins', 'regress_origin_a');
SELECT sent('include_origins', '"regress origin, b"');
SELECT sent('exclude_origins', '"regress origin, b",regress_origin_a');
SELECT sent('include_origins', 'regress_origin_' || repeat('long', 20));
SELECT sent('include_origins', 'Regress_Origin_A,"regress origin, b"', 'exclude_origins', '"Regress origin, b"');
SELECT sent('include_origins', 'no_such_origin');
SELECT sent('exclude_origins', 'no_such_origin') = sent();
SELECT sent('include_origins', '""', 'origin', 'none');
-- a transaction of an origin that is left out is not sent as an empty one
SELECT sent('include_origins', 'regress_origin_a', 'empty_transactions', 'send');

-- An origin that was dropped since has the name that it had.
SELECT FROM pg_replication_origin_drop('regress origin, b');
SELECT sent();
SELECT sent('include_origins', '"regress origin, b"');
SELECT sent('exclude_origins', '"regress origin, b"');
SELECT sent('include_origins', '""');
SELECT sent('exclude_origins', '""');
\pset tuples_only

SELECT pg_drop_replication_slot('regress_origins');
SELECT FROM pg_replication_origin_drop('regress_origin_a');
SELECT FROM pg_replication_origin_drop('regress_origin_' || repeat('long', 20));
DROP PUBLICATION origins;
DROP SCHEMA origins CASCADE;
