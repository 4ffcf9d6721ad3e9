-- Option progress_interval: a transaction with nothing to send is sent as Begin and
-- Commit once that much WAL has gone by.

SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS pgoutput_ext;
CREATE SCHEMA progress_interval;
SET search_path = progress_interval, public;
\set SHOW_CONTEXT never

CREATE TABLE t (a int PRIMARY KEY);
CREATE TABLE other (a int);
CREATE PUBLICATION progress_interval FOR TABLE t;
CREATE FUNCTION messages(VARIADIC options text[]) RETURNS TABLE (lsn pg_lsn, xid xid, message text, new jsonb, detail jsonb, n bigint) LANGUAGE sql AS $$
	SELECT p.lsn, p.xid, p.message, p.new, p.detail, n
	FROM pgoutput_ext_peek('regress_progress_interval', current_setting('progress_interval.upto')::pg_lsn, NULL,
			VARIADIC ARRAY['proto_version', '1', 'publication_names', 'progress_interval'] || options ||
				CASE WHEN 'empty_transactions' = ANY (options) THEN '{}' ELSE '{empty_transactions,skip}'::text[] END ||
				CASE WHEN 'messages' = ANY (options) THEN '{}' ELSE '{messages,off}'::text[] END)
		WITH ORDINALITY p (lsn, xid, message, relation, old, new, detail, n) $$;
-- Transactions in brackets, behind those of "other" the row that is not in them.
CREATE FUNCTION sent(VARIADIC options text[] DEFAULT '{}') RETURNS text LANGUAGE sql AS $$
	SELECT string_agg(CASE message WHEN 'Begin' THEN '[' WHEN 'Commit' THEN ']' || coalesce((SELECT a FROM other WHERE other.xmin = m.xid)::text, '')
			WHEN 'Origin' THEN detail ->> 'name' ELSE coalesce(new ->> 'a', detail ->> 'prefix', message) END, ' ' ORDER BY n)
	FROM messages(VARIADIC options) m WHERE message <> 'Relation' $$;
-- Writes so many MB of WAL that decode to nothing.
CREATE FUNCTION write_wal(mb int) RETURNS void LANGUAGE sql AS $$
	SELECT pg_logical_emit_message(false, 'wal', repeat('x', 1000000)) FROM generate_series(1, mb) $$;

SELECT FROM pg_create_logical_replication_slot('regress_progress_interval', 'pgoutput_ext');
SELECT FROM pg_replication_origin_create('regress_progress_interval');
INSERT INTO other VALUES (1);
SELECT write_wal(12);
INSERT INTO other VALUES (2);
INSERT INTO other VALUES (3);
SELECT write_wal(5);
INSERT INTO other VALUES (4);
SELECT write_wal(5);
INSERT INTO other VALUES (5);
SELECT write_wal(5);
INSERT INTO t VALUES (50);
SELECT write_wal(5);
INSERT INTO other VALUES (6);
SELECT write_wal(5);
SELECT FROM pg_replication_origin_session_setup('regress_progress_interval');
INSERT INTO t VALUES (70);
SELECT FROM pg_replication_origin_session_reset();
SELECT write_wal(12);
-- empty in another way: rolled back, a catalog, a message
BEGIN;
SAVEPOINT s;
INSERT INTO t VALUES (80);
ROLLBACK TO s;
INSERT INTO other VALUES (8);
COMMIT;
SELECT FROM pg_logical_emit_message(true, 'message', '');
-- to write WAL is not enough: here ends no transaction that the plugin hears of
SELECT write_wal(12);
-- flushes it
SELECT FROM pg_switch_wal();
SELECT pg_current_wal_lsn() AS upto \gset
SET progress_interval.upto = :'upto';

SELECT sent('progress_interval', 'off');
SELECT sent('progress_interval', '8MB');
SELECT sent('progress_interval', '8192 kB');
SELECT sent('progress_interval', '1GB');
-- what other options leave out serves as well, with its origin
SELECT sent('progress_interval', '8MB', 'exclude_origins', 'regress_progress_interval');
SELECT sent('progress_interval', '8MB', 'exclude_tables', '*.t');
-- the transaction's frame as of any other
SELECT sent('progress_interval', '8MB', 'transaction_metadata', 'on');
SELECT DISTINCT detail #> '{content,changes}' AS changes FROM messages('progress_interval', '8MB', 'transaction_metadata', 'on')
WHERE message = 'Message' AND xid IN (SELECT xmin FROM other WHERE a <> 8);
-- a Message outside of transactions is no progress
SELECT replace(sent('progress_interval', '8MB', 'messages', 'on', 'message_prefixes', 'wal'), 'wal ', '') = sent('progress_interval', '8MB') || ' wal' AS same;
SELECT sent('progress_interval', '8MB', 'messages', 'on', 'message_prefixes', 'message');
-- with "send" there is nothing to add, but what origins leave out
SELECT sent('progress_interval', '4MB', 'empty_transactions', 'send') = sent('empty_transactions', 'send') AS same;
SELECT sent('progress_interval', '4MB', 'empty_transactions', 'send', 'include_origins', '""') =
	replace(sent('empty_transactions', 'send'), 'regress_progress_interval 70', 'regress_progress_interval') AS same;
SELECT sent('progress_interval', '8MB', 'empty_transactions', 'send', 'include_origins', '""') =
	replace(sent('empty_transactions', 'send'), '[ regress_progress_interval 70 ] ', '') AS same;

-- To the byte: for each transaction the distances from the end of the one before
-- it and from the slot, and a byte more, against a model.
CREATE TABLE ends AS
SELECT row_number() OVER (ORDER BY max(n)) AS i, xid, max(lsn) - '0/0' AS upto, bool_or(message = 'Insert') AS has_rows
FROM messages('empty_transactions', 'send') GROUP BY xid;
CREATE FUNCTION model("interval" numeric) RETURNS text LANGUAGE sql AS $$
	WITH RECURSIVE model AS (
		SELECT 0::bigint AS i, NULL::xid AS xid, confirmed_flush_lsn - '0/0' AS mark, false AS sent
		FROM pg_replication_slots WHERE slot_name = 'regress_progress_interval'
		UNION ALL
		SELECT e.i, e.xid, CASE WHEN s.sent THEN upto ELSE mark END, s.sent
		FROM model JOIN ends e ON e.i = model.i + 1, LATERAL (SELECT has_rows OR upto - mark >= "interval" AS sent) s)
	SELECT string_agg(xid::text, ' ' ORDER BY i) FROM model WHERE sent $$;
SELECT count(*) > 20 AS intervals, sum((model IS DISTINCT FROM (SELECT string_agg(xid::text, ' ' ORDER BY n) FROM messages('progress_interval', bytes::text) WHERE message = 'Commit'))::int) AS wrong,
	count(DISTINCT model) > 5 AS differ
FROM (SELECT DISTINCT distance + more AS bytes
		FROM (SELECT upto - lag(upto) OVER (ORDER BY i) AS distance FROM ends
			UNION SELECT upto - (confirmed_flush_lsn - '0/0') FROM ends, pg_replication_slots WHERE slot_name = 'regress_progress_interval') d,
			unnest(ARRAY[0, 1]) more
		WHERE distance IS NOT NULL) b,
	LATERAL model(bytes);

-- A new session starts where the slot stands.
SELECT FROM pg_replication_slot_advance('regress_progress_interval', (SELECT '0/0'::pg_lsn + upto FROM ends JOIN other ON other.xmin = xid WHERE a = 3));
SELECT sent('progress_interval', '8MB');

-- other values: sql/options.sql
SELECT sent('progress_interval', 'OFF') = sent() AS same;

SELECT FROM pg_drop_replication_slot('regress_progress_interval');
SELECT FROM pg_replication_origin_drop('regress_progress_interval');
DROP PUBLICATION progress_interval;
DROP SCHEMA progress_interval CASCADE;
