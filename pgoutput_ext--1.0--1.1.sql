/* pgoutput_ext--1.0--1.1.sql */

\echo Use "ALTER EXTENSION pgoutput_ext UPDATE TO '1.1'" to load this file. \quit

/* ---- what decodes ------------------------------------------------------------ */

CREATE FUNCTION pgoutput_ext_version()
RETURNS text
LANGUAGE c STABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME';

COMMENT ON FUNCTION pgoutput_ext_version() IS
'version of the library pgoutput_ext that this server loads';

/* ---- the reader --------------------------------------------------------------- */

-- names in its result are quoted by the setting quote_all_identifiers
ALTER FUNCTION pgoutput_ext_decode_stream(bytea[], boolean) STABLE;

/* ---- pgoutput_ext_check ------------------------------------------------------ */

/*
 * What would bite a client of the slot, one row per finding. There is one
 * function for each topic; the number of a finding gives its place.
 *
 * They read catalogs only, and lock no table. A column that not every version
 * of the server has is asked for
 * - through to_jsonb(), where a missing one is null, or
 * - without a qualifier in a subquery, beside another one that provides the
 *   name: the catalog's own column is nearer, if there is one.
 */

/* The slot itself, and what stops all slots. */
CREATE FUNCTION pgoutput_ext_check_slot(
	slot_name name,
	OUT number integer,
	OUT severity text,
	OUT object text,
	OUT finding text,
	OUT remedy text)
RETURNS SETOF record
LANGUAGE sql STABLE COST 1000 ROWS 5
SET search_path = pg_catalog, pg_temp
AS $slot$
WITH server AS MATERIALIZED (
	SELECT current_setting('server_version_num')::int AS version,
		   pg_is_in_recovery() AS standby,
		   CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn()
				ELSE pg_current_wal_lsn() END AS lsn,
		   least(1024, nullif((SELECT setting FROM pg_settings
							   WHERE name = 'max_slot_wal_keep_size'), '-1')::bigint / 2)
			   * 1024 * 1024 AS far_behind,
		   -- in seconds, from 18 on
		   make_interval(secs => nullif((SELECT setting FROM pg_settings
										 WHERE name = 'idle_replication_slot_timeout'), '0')::int) AS idle_timeout,
		   (SELECT setting FROM pg_settings WHERE name = 'synchronized_standby_slots') AS standby_slots,
		   -- not everyone may see it
		   (SELECT setting FROM pg_settings WHERE name = 'output_plugin_libraries') AS libraries
), slot AS MATERIALIZED (
	SELECT s.slot_name, s.slot_type, s.plugin, s.database, s.temporary, s.active, s.active_pid,
		   s.wal_status, s.confirmed_flush_lsn, s.two_phase,
		   'slot ' || quote_ident(s.slot_name) AS title,
		   s.wal_status = 'lost' OR j ->> 'invalidation_reason' IS NOT NULL
			   OR coalesce((j ->> 'conflicting')::boolean, false) AS lost,
		   -- 16 calls every lost slot conflicting, and does not say why; only one whose WAL
		   -- is gone has no restart_lsn
		   coalesce(j ->> 'invalidation_reason',
					CASE WHEN (j ->> 'conflicting')::boolean AND s.restart_lsn IS NOT NULL
						 THEN 'it conflicted with recovery (rows_removed or wal_level_insufficient)'
						 ELSE 'the WAL it needs is gone' END) AS reason,
		   (j ->> 'inactive_since')::timestamptz AS inactive_since,
		   (j ->> 'failover')::boolean AS failover,
		   -- made and moved by the server, as a copy of the primary's
		   server.standby AND coalesce((j ->> 'synced')::boolean, false) AS synced
	FROM pg_replication_slots s CROSS JOIN LATERAL to_jsonb(s) j CROSS JOIN server
	WHERE s.slot_name = pgoutput_ext_check_slot.slot_name
), usable AS MATERIALIZED (
	SELECT * FROM slot WHERE NOT lost AND slot_type = 'logical'
), standby_slot AS MATERIALIZED (
	-- what the walsender waits for before it sends changes of a failover slot
	SELECT btrim(n.name, ' "') AS slot_name, s.slot_type, s.active AND s.slot_type = 'physical' AS active
	FROM server CROSS JOIN unnest(string_to_array(standby_slots, ',')) n (name)
		 LEFT JOIN pg_replication_slots s ON s.slot_name = btrim(n.name, ' "')
	WHERE btrim(n.name) <> '' AND NOT standby
)
SELECT 10, 'error', 'slot ' || quote_ident(pgoutput_ext_check_slot.slot_name),
	   'does not exist',
	   CASE WHEN standby AND version < 160000 THEN 'create it on the primary: '
			ELSE '' END ||
	   'SELECT pg_create_logical_replication_slot(' ||
	   quote_literal(pgoutput_ext_check_slot.slot_name) || ', ''pgoutput_ext'')'
FROM server
WHERE NOT EXISTS (SELECT FROM slot)
UNION ALL
SELECT 11, 'error', title, 'is a physical slot, which cannot be decoded',
	   'create a logical slot of another name: SELECT pg_create_logical_replication_slot(''...'', ''pgoutput_ext'')'
FROM slot WHERE slot_type <> 'logical'
UNION ALL
SELECT 12, 'error', title, 'belongs to database ' || quote_ident(database),
	   'connect to that database'
FROM slot WHERE database <> current_database()
UNION ALL
SELECT 13, 'error', title, 'uses the output plugin ' || plugin,
	   'create a slot with pgoutput_ext or pgoutput' ||
	   CASE WHEN lost THEN '' ELSE ', or copy its position to one: SELECT pg_copy_logical_replication_slot(' ||
			quote_literal(slot.slot_name) || ', ''...'', false, ''pgoutput_ext'')' END
FROM slot WHERE plugin NOT IN ('pgoutput', 'pgoutput_ext')
UNION ALL
SELECT 14, 'error', title, 'is invalid: ' || reason,
	   CASE WHEN synced THEN 'the server drops it and makes it anew with the next synchronization, if the primary''s is valid'
			WHEN slot_type <> 'logical' THEN 'drop it, create it anew and make its standby from a new base backup'
			-- it cannot be made before
			ELSE CASE WHEN reason ~ 'wal_level_insufficient' THEN 'set wal_level = ''logical'' on the primary and restart it; ' ELSE '' END ||
				 CASE WHEN reason ~ 'rows_removed' AND standby
					  THEN 'set hot_standby_feedback = on and primary_slot_name here, that it stays valid; ' ELSE '' END ||
				 'drop it, create it anew and copy the tables again' END
FROM slot, server WHERE lost
UNION ALL
SELECT 15, 'error', title, 'is about to lose the WAL it needs',
	   'raise max_slot_wal_keep_size and reload, or read from it before the next checkpoint'
FROM usable WHERE wal_status = 'unreserved'
UNION ALL
SELECT 16, 'warning', title,
	   pg_size_pretty(server.lsn - confirmed_flush_lsn) || ' behind',
	   'see that its client reads and confirms'
FROM usable, server WHERE NOT synced AND server.lsn - confirmed_flush_lsn > server.far_behind
UNION ALL
SELECT 17, 'note', title, 'is inactive: no client reads from it, and it holds back WAL and VACUUM',
	   'start its client, or drop it'
FROM usable WHERE NOT active AND NOT synced
UNION ALL
SELECT 17, 'note', title, 'is inactive: a physical slot that no standby uses holds back WAL',
	   'start its standby, or drop it'
FROM slot WHERE NOT active AND NOT lost AND slot_type <> 'logical' AND NOT synced
UNION ALL
SELECT 18, 'note', title,
	   'is synchronized from the primary: it cannot be read here before this server is promoted',
	   'read the slot of the same name on the primary, or promote this server'
FROM usable WHERE synced AND NOT temporary
UNION ALL
SELECT 19, 'warning', title,
	   'is not yet synchronized: it would be gone after a promotion',
	   'read the slot of the same name on the primary until this one is no longer temporary'
FROM usable WHERE synced AND temporary
UNION ALL
SELECT 20, 'warning', title,
	   'is temporary: it is dropped when the session with process ID ' || active_pid || ' ends or meets an error',
	   'create a permanent slot, if a client is to come again'
FROM usable WHERE temporary AND NOT synced
UNION ALL
SELECT 21, CASE WHEN inactive_since + idle_timeout > now() THEN 'warning' ELSE 'error' END, title,
	   'is idle since ' || date_trunc('second', inactive_since) ||
	   ': the first checkpoint after ' || date_trunc('second', inactive_since + idle_timeout) ||
	   ' makes it invalid, by idle_replication_slot_timeout',
	   'start its client, or ALTER SYSTEM SET idle_replication_slot_timeout = 0, and reload'
FROM usable, server WHERE NOT active AND NOT synced AND idle_timeout IS NOT NULL
UNION ALL
SELECT 22, 'warning', title,
	   'has failover = true, but synchronized_standby_slots is empty: after a failover its client can be ahead of the new primary',
	   'name the standby''s physical slot: ALTER SYSTEM SET synchronized_standby_slots = ''...'', and reload'
FROM usable, server WHERE failover AND NOT standby AND standby_slots = ''
UNION ALL
SELECT 23, 'error', title,
	   'sends nothing: it waits for slot ' || quote_ident(w.slot_name) || ' of synchronized_standby_slots, which ' ||
	   CASE WHEN w.active IS NULL THEN 'does not exist'
			WHEN w.slot_type <> 'physical' THEN 'is a logical one'
			ELSE 'no standby uses' END,
	   CASE WHEN w.slot_type = 'physical' THEN 'start the standby of that slot, or ' ELSE '' END ||
	   'take the slot out of synchronized_standby_slots and reload'
FROM usable, standby_slot w WHERE failover AND w.active IS NOT TRUE
UNION ALL
SELECT 24, 'note', title,
	   CASE WHEN two_phase THEN 'has two_phase = true: prepared transactions come at PREPARE TRANSACTION'
			ELSE 'has two_phase = false: prepared transactions come at COMMIT PREPARED' END ||
	   CASE WHEN failover THEN '; has failover = true: a standby can take it over'
			WHEN NOT failover THEN '; has failover = false: it is gone after a failover'
			ELSE '' END,
	   'see that its subscription says the same: SELECT subname, subtwophasestate' ||
	   CASE WHEN failover IS NULL THEN '' ELSE ', subfailover' END || ' FROM pg_subscription'
FROM usable, server WHERE plugin IN ('pgoutput', 'pgoutput_ext') AND version >= 150000 AND NOT synced
UNION ALL
SELECT 28, 'error', 'setting wal_level', 'is ' || current_setting('wal_level'),
	   'ALTER SYSTEM SET wal_level = ''logical'', and restart the server'
FROM server
-- 19 and later decode with replica as soon as there is a logical slot
WHERE current_setting('wal_level') <> 'logical'
	  AND NOT (version >= 190000 AND current_setting('wal_level') = 'replica')
UNION ALL
SELECT 29, 'error', 'setting output_plugin_libraries',
	   'does not list ' || plugin || ', so that the slot cannot be read in a session like this one',
	   'ALTER SYSTEM SET output_plugin_libraries = ' || libraries ||
	   CASE WHEN btrim(libraries) = '' THEN '' ELSE ', ' END || quote_ident(plugin) || ', and reload'
FROM usable, server
WHERE libraries IS NOT NULL
	  AND plugin <> ALL (SELECT btrim(name, ' "') FROM unnest(string_to_array(libraries, ',')) name)
$slot$;

COMMENT ON FUNCTION pgoutput_ext_check_slot(name) IS
'part of pgoutput_ext_check: the slot';

/* Which library decodes a slot of pgoutput: dynamic_library_path decides. */
CREATE FUNCTION pgoutput_ext_check_library(
	slot_name name,
	OUT number integer,
	OUT severity text,
	OUT object text,
	OUT finding text,
	OUT remedy text)
RETURNS SETOF record
LANGUAGE sql STABLE COST 1000 ROWS 1
SET search_path = pg_catalog, pg_temp
AS $library$
WITH setting (role, database, path) AS (
	-- only who may read all settings sees the server's own
	SELECT NULL::name, NULL::name, reset_val FROM pg_settings
	WHERE name = 'dynamic_library_path' AND source NOT IN ('database', 'user', 'database user', 'client')
	UNION ALL
	SELECT r.rolname, b.datname, substr(c.value, strpos(c.value, '=') + 1)
	FROM pg_db_role_setting d
		 CROSS JOIN unnest(d.setconfig) c (value)
		 LEFT JOIN pg_roles r ON r.oid = d.setrole
		 LEFT JOIN pg_database b ON b.oid = d.setdatabase
	WHERE lower(split_part(c.value, '=', 1)) = 'dynamic_library_path'
		  AND (d.setdatabase = 0 OR b.datname = current_database())
), chosen AS (
	-- the folder counts only where it comes before the server's own
	SELECT s.role, s.database,
		   coalesce(array_position(p.parts, '$libdir/pgoutput_ext')
					< coalesce(array_position(p.parts, '$libdir'), 2147483647), false) AS ours
	FROM setting s CROSS JOIN LATERAL string_to_array(s.path, ':') p (parts)
), server AS (
	SELECT coalesce(bool_or(ours) FILTER (WHERE role IS NULL AND database IS NULL), false) AS ours FROM chosen
), exception AS (
	SELECT string_agg(CASE WHEN c.role IS NULL THEN quote_ident(c.database) || ' (database)'
						   WHEN c.database IS NULL THEN quote_ident(c.role) || ' (role)'
						   ELSE quote_ident(c.role) || ' (role) in ' || quote_ident(c.database) || ' (database)' END,
					  ', ' ORDER BY c.role NULLS FIRST, c.database NULLS FIRST) AS names
	FROM chosen c, server
	WHERE (c.role IS NOT NULL OR c.database IS NOT NULL) AND c.ours <> server.ours
)
SELECT 25, 'note', 'slot ' || quote_ident(s.slot_name),
	   CASE WHEN server.ours THEN 'is decoded by pgoutput_ext, found first in dynamic_library_path'
			ELSE 'is decoded by the server''s own pgoutput' END ||
	   coalesce(', for every role but: ' || exception.names, ''),
	   CASE WHEN server.ours THEN 'take $libdir/pgoutput_ext out of dynamic_library_path, where the server''s pgoutput is wanted'
			ELSE 'to have it decoded by pgoutput_ext, copy it: SELECT pg_copy_logical_replication_slot(' ||
				 quote_literal(s.slot_name) || ', ''...'', false, ''pgoutput_ext'')' END
FROM pg_replication_slots s, server, exception
WHERE s.slot_name = pgoutput_ext_check_library.slot_name AND s.plugin = 'pgoutput'
$library$;

COMMENT ON FUNCTION pgoutput_ext_check_library(name) IS
'part of pgoutput_ext_check: the library that decodes a slot of pgoutput';

/*
 * Subscriptions of this server that use a slot of this name. Where they connect
 * is a secret, so the finding says what holds if it is here.
 */
CREATE FUNCTION pgoutput_ext_check_subscriptions(
	slot_name name,
	OUT number integer,
	OUT severity text,
	OUT object text,
	OUT finding text,
	OUT remedy text)
RETURNS SETOF record
LANGUAGE sql STABLE COST 1000 ROWS 1
SET search_path = pg_catalog, pg_temp
AS $subscriptions$
WITH subscription AS MATERIALIZED (
	SELECT s.subtwophasestate, s.subfailover, quote_ident(s.subname) AS name,
		   (SELECT string_agg(quote_ident(n), ',') FROM unnest(s.subpublications) n) AS publications
	FROM (SELECT NULL::"char" AS subtwophasestate, NULL::boolean AS subfailover) missing
		 CROSS JOIN LATERAL (
			SELECT subname, subtwophasestate, subfailover, subpublications FROM pg_subscription
			WHERE subslotname = pgoutput_ext_check_subscriptions.slot_name) s
), slot AS MATERIALIZED (
	SELECT s.two_phase, (j ->> 'failover')::boolean AS failover, s.plugin, quote_ident(s.slot_name) AS name,
		   quote_literal(s.slot_name) AS literal
	FROM pg_replication_slots s CROSS JOIN LATERAL to_jsonb(s) j
	WHERE s.slot_name = pgoutput_ext_check_subscriptions.slot_name
		  AND s.slot_type = 'logical' AND s.wal_status IS DISTINCT FROM 'lost'
		  AND NOT (pg_is_in_recovery() AND coalesce((j ->> 'synced')::boolean, false))
), server AS (
	SELECT current_setting('server_version_num')::int AS version
)
SELECT 26, 'warning', 'subscription ' || s.name,
	   -- while it is pending, the subscription itself asks for it at its next start
	   CASE WHEN slot.two_phase
			THEN 'has two_phase = false, but slot ' || slot.name || ' of this server has true: if it reads that one, it is sent transactions at PREPARE TRANSACTION'
			ELSE 'has two_phase = true, but slot ' || slot.name || ' of this server has false: if it reads that one, it gets prepared transactions at COMMIT PREPARED only'
	   END,
	   'ALTER SUBSCRIPTION ' || s.name || ' DISABLE; ' ||
	   CASE WHEN version >= 180000
			THEN 'ALTER SUBSCRIPTION ' || s.name || ' SET (two_phase = ' || (NOT slot.two_phase)::text || '); '
			WHEN slot.two_phase
			-- a copy has two_phase = false
			THEN 'SELECT pg_copy_logical_replication_slot(' || slot.literal || ', ''...''); ALTER SUBSCRIPTION ' ||
				 s.name || ' SET (slot_name = ''...''); SELECT pg_drop_replication_slot(' || slot.literal || '); '
			-- reading with the option turns it on in the slot
			ELSE 'SELECT count(*) FROM pg_logical_slot_peek_binary_changes(' || slot.literal ||
				 ', NULL, 1, ''proto_version'', ''3'', ''two_phase'', ''on'', ''publication_names'', ' ||
				 quote_literal(s.publications) || '); '
	   END || 'ALTER SUBSCRIPTION ' || s.name || ' ENABLE'
FROM subscription s, slot, server
WHERE s.subtwophasestate = CASE WHEN slot.two_phase THEN 'd' ELSE 'e' END
UNION ALL
SELECT 27, 'warning', 'subscription ' || s.name,
	   'has failover = ' || s.subfailover || ', but slot ' || slot.name || ' of this server has ' || slot.failover ||
	   CASE WHEN s.subfailover THEN ': if it reads that one, the slot is gone after a failover'
			ELSE ': if it reads that one, standbys synchronize the slot nevertheless' END,
	   'ALTER SUBSCRIPTION ' || s.name || ' DISABLE; ALTER SUBSCRIPTION ' || s.name ||
	   ' SET (failover = ' || s.subfailover || '); ALTER SUBSCRIPTION ' || s.name || ' ENABLE'
FROM subscription s, slot
WHERE s.subfailover <> slot.failover
$subscriptions$;

COMMENT ON FUNCTION pgoutput_ext_check_subscriptions(name) IS
'part of pgoutput_ext_check: subscriptions of this server that use the slot';

/* Publications: those named, or all of the database. */
CREATE FUNCTION pgoutput_ext_check_publications(
	slot_name name,
	publication_names text[],
	OUT number integer,
	OUT severity text,
	OUT object text,
	OUT finding text,
	OUT remedy text)
RETURNS SETOF record
LANGUAGE sql STABLE COST 1000 ROWS 2
SET search_path = pg_catalog, pg_temp
AS $publications$
WITH publication AS MATERIALIZED (
	SELECT p.oid, p.pubname, p.puballtables, p.xmin, quote_ident(p.pubname) AS name
	FROM pg_publication p
	WHERE publication_names IS NULL OR p.pubname = ANY (publication_names)
), named AS MATERIALIZED (
	SELECT r.prpubid AS pubid, r.prrelid AS relid, r.prexcept AS excepted
	FROM (SELECT false AS prexcept) missing
		 CROSS JOIN LATERAL (SELECT prpubid, prrelid, prexcept FROM pg_publication_rel) r
), published AS (
	SELECT pubid AS oid FROM named WHERE NOT excepted
	UNION
	-- pg_publication_namespace, which 14 does not have, is in pg_depend by name
	SELECT p.refobjid
	FROM pg_depend p JOIN pg_depend n ON n.classid = p.classid AND n.objid = p.objid
		 JOIN pg_class c ON c.relnamespace = n.refobjid
	WHERE p.classid = to_regclass('pg_catalog.pg_publication_namespace')
		  AND p.refclassid = 'pg_publication'::regclass AND n.refclassid = 'pg_namespace'::regclass
		  AND c.relkind IN ('r', 'p') AND c.relpersistence = 'p'
	UNION
	SELECT p.oid FROM publication p
	WHERE p.puballtables
		  AND EXISTS (SELECT FROM pg_class c
					  WHERE c.relkind IN ('r', 'p') AND c.relpersistence = 'p' AND c.oid >= 16384
							-- a partition is left out with its root
							AND NOT c.relispartition
							AND NOT EXISTS (SELECT FROM named n WHERE n.pubid = p.oid AND n.relid = c.oid AND n.excepted))
), slot AS MATERIALIZED (
	SELECT s.catalog_xmin FROM pg_replication_slots s
	WHERE s.slot_name = pgoutput_ext_check_publications.slot_name AND s.database = current_database()
		  AND s.wal_status IS DISTINCT FROM 'lost' AND to_jsonb(s) ->> 'invalidation_reason' IS NULL
)
SELECT 30, 'error', 'publication ' || quote_ident(n.name), 'does not exist',
	   'create it, and read the slot past its creation without naming it, or move it there with pg_replication_slot_advance'
FROM unnest(publication_names) n (name)
WHERE NOT EXISTS (SELECT FROM publication p WHERE p.pubname = n.name)
UNION ALL
SELECT 31, 'error', 'database ' || quote_ident(current_database()),
	   'has no publication', 'CREATE PUBLICATION ...'
WHERE publication_names IS NULL AND NOT EXISTS (SELECT FROM publication)
UNION ALL
SELECT 32, 'warning', 'publication ' || p.name,
	   'may be younger than the slot''s position, and not exist for older changes',
	   'read the slot past its creation and a checkpoint after it, or move it there with pg_replication_slot_advance'
FROM publication p, slot
WHERE age(p.xmin) <= age(slot.catalog_xmin)
UNION ALL
SELECT 33, 'warning', 'publication ' || p.name, 'publishes no table',
	   CASE WHEN p.puballtables THEN 'create a table'
			ELSE 'ALTER PUBLICATION ' || p.name || ' ADD TABLE ...' END
FROM publication p
WHERE p.oid NOT IN (SELECT oid FROM published)
$publications$;

COMMENT ON FUNCTION pgoutput_ext_check_publications(name, text[]) IS
'part of pgoutput_ext_check: publications';

/*
 * Tables of the publications. Where the server refuses UPDATE and DELETE is
 * decided as its CheckCmdReplicaIdentity() does it: by every partition's own
 * replica identity, and by the column list and the row filter of the relation
 * that it is published as.
 *
 * The cost is that of the tables, not of tables times publications, and joins
 * are by hash: what the catalogs' statistics say of new tables is no basis for
 * nested loops.
 */
CREATE FUNCTION pgoutput_ext_check_tables(
	publication_names text[],
	OUT number integer,
	OUT severity text,
	OUT object text,
	OUT finding text,
	OUT remedy text)
RETURNS SETOF record
LANGUAGE sql STABLE COST 10000 ROWS 10
SET search_path = pg_catalog, pg_temp
SET enable_nestloop = off
SET jit = off
AS $tables$
WITH RECURSIVE server AS MATERIALIZED (
	-- a text that stands for a table's name until it is known how many there are
	SELECT current_setting('server_version_num')::int AS version, chr(1) AS it
),

-- What the publications name. Those with the same definition are of one kind.

named AS MATERIALIZED (
	SELECT r.prpubid AS pubid, r.prrelid AS relid, r.prexcept AS excepted, r.prattrs AS attnums, r.prqual AS filter
	FROM (SELECT NULL::int2vector AS prattrs, NULL::pg_node_tree AS prqual, false AS prexcept) missing
		 CROSS JOIN LATERAL (SELECT prpubid, prrelid, prexcept, prattrs, prqual FROM pg_publication_rel) r
), named_schema AS MATERIALIZED (
	-- pg_publication_namespace, which 14 does not have, is in pg_depend by name
	SELECT p.refobjid AS pubid, n.refobjid AS schemaid
	FROM pg_depend p JOIN pg_depend n ON n.classid = p.classid AND n.objid = p.objid
	WHERE p.classid = to_regclass('pg_catalog.pg_publication_namespace')
		  AND p.refclassid = 'pg_publication'::regclass AND n.refclassid = 'pg_namespace'::regclass
), publication AS (
	SELECT p.*, p.pubgencols = 's' AS sends_stored
	FROM (SELECT 'n'::"char" AS pubgencols) missing
		 CROSS JOIN LATERAL (
			SELECT oid, pubname, puballtables, pubviaroot, pubupdate, pubdelete, pubgencols
			FROM pg_publication
			WHERE publication_names IS NULL OR pubname = ANY (publication_names)) p
), kind AS MATERIALIZED (
	SELECT min(p.oid) AS id, array_agg(quote_ident(p.pubname) ORDER BY p.pubname) AS names,
		   CASE WHEN count(*) > 1 THEN 'publications ' ELSE 'publication ' END ||
		   string_agg(quote_ident(p.pubname), ', ' ORDER BY p.pubname) AS title,
		   CASE WHEN pubupdate AND pubdelete THEN 'UPDATE and DELETE fail'
				WHEN pubupdate THEN 'UPDATE fails' ELSE 'DELETE fails' END AS fails,
		   puballtables, pubviaroot, pubupdate, pubdelete, sends_stored
	FROM publication p
		 LEFT JOIN (SELECT pubid, string_agg(format('%s %s %s %s', relid, excepted, attnums, filter), ',' ORDER BY relid) AS names
					FROM named GROUP BY pubid) t ON t.pubid = p.oid
		 LEFT JOIN (SELECT pubid, string_agg(schemaid::text, ',' ORDER BY schemaid) AS names
					FROM named_schema GROUP BY pubid) s ON s.pubid = p.oid
	GROUP BY puballtables, pubviaroot, pubupdate, pubdelete, sends_stored, t.names, s.names
), member AS MATERIALIZED (
	-- relations that are in a publication by themselves
	SELECT m.*, c.relkind, c.relispartition
	FROM pg_class c
		 JOIN (SELECT k.id AS kind, n.relid, true AS by_name, n.attnums, n.filter
			   FROM kind k JOIN named n ON n.pubid = k.id
			   WHERE NOT n.excepted
			   UNION ALL
			   SELECT k.id, c.oid, false, NULL, NULL
			   FROM kind k
					JOIN named_schema s ON s.pubid = k.id
					JOIN pg_class c ON c.relnamespace = s.schemaid
			   WHERE (k.id, c.oid) NOT IN (SELECT pubid, relid FROM named)
			   UNION ALL
			   -- here partitions are those of their roots
			   SELECT k.id, c.oid, false, NULL, NULL
			   FROM kind k JOIN pg_class c ON NOT c.relispartition
			   WHERE k.puballtables AND c.oid >= 16384
					 AND (k.id, c.oid) NOT IN (SELECT pubid, relid FROM named)) m ON m.relid = c.oid
	WHERE c.relkind = 'p' OR c.relkind = 'r' AND c.relpersistence = 'p'
),

-- The tables that hold the rows, and what each is published as.

descent (ancestor, parent, relid, relkind, relpersistence, level) AS (
	-- partitions of published tables, and beside published partitions
	SELECT c.oid, NULL::oid, c.oid, c.relkind, c.relpersistence, 0
	FROM pg_class c
	WHERE c.oid IN (SELECT relid FROM member WHERE relkind = 'p'
					UNION
					SELECT pg_partition_root(relid)::oid FROM member WHERE relispartition)
	UNION ALL
	SELECT d.ancestor, d.relid, c.oid, c.relkind, c.relpersistence, d.level + 1
	FROM descent d
		 JOIN pg_inherits i ON i.inhparent = d.relid
		 JOIN pg_class c ON c.oid = i.inhrelid
	WHERE d.relkind = 'p'
), leaf_by_kind AS (
	-- through the root: the topmost of its ancestors that is in the publication
	SELECT DISTINCT ON (m.kind, l.relid) m.kind, l.relid,
		   CASE WHEN k.pubviaroot THEN m.relid ELSE l.relid END AS as_relid,
		   CASE WHEN k.pubviaroot THEN l.level ELSE 0 END AS level
	FROM member m
		 JOIN kind k ON k.id = m.kind
		 JOIN (SELECT ancestor, relid, level FROM descent WHERE relkind = 'r' AND relpersistence = 'p'
			   UNION ALL
			   SELECT DISTINCT relid, relid, 0 FROM member WHERE relkind = 'r') l ON l.ancestor = m.relid
	ORDER BY m.kind, l.relid, l.level DESC
), leaf AS MATERIALIZED (
	-- of several publications, those count for a client that go highest
	SELECT l.*, level = max(level) OVER (PARTITION BY relid) AS counts
	FROM leaf_by_kind l
),

-- Keys as clients find rows by them: what the server takes as replica identity.

usable_index AS (
	SELECT indexrelid, indrelid, indisprimary, indisreplident AND indisvalid AS indisreplident, indkey, indnkeyatts
	FROM pg_index
	WHERE indisunique AND indimmediate AND indpred IS NULL AND (indisprimary OR indisreplident)
		  AND (indisvalid
			   -- from 18 on the primary key of a partitioned table counts also if not every
			   -- partition has it
			   OR indisprimary AND (SELECT version FROM server) >= 180000
			   AND indrelid IN (SELECT oid FROM pg_class WHERE relkind = 'p'))
), index_key AS MATERIALIZED (
	-- behind the key columns, indkey has those of INCLUDE
	SELECT i.indrelid AS relid, i.indisprimary, i.indisreplident,
		   array_agg(a.attname::text ORDER BY a.attname::text COLLATE "C") AS names
	FROM usable_index i
		 CROSS JOIN LATERAL unnest(i.indkey) WITH ORDINALITY k (attnum, place)
		 JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum
	WHERE k.place <= i.indnkeyatts
	GROUP BY i.indexrelid, i.indrelid, i.indisprimary, i.indisreplident
), identity AS MATERIALIZED (
	SELECT c.oid AS relid, c.relreplident, c.relispartition, c.relhassubclass, c.reltoastrelid,
		   CASE c.relreplident WHEN 'd' THEN p.names WHEN 'i' THEN r.names END AS key,
		   p.names AS primary_key, coalesce(NOT d.indimmediate, false) AS is_deferrable,
		   -- of a partitioned table of which not every partition has it
		   CASE WHEN NOT d.indisvalid THEN d.indexrelid END AS invalid_key
	FROM pg_class c
		 LEFT JOIN index_key p ON p.relid = c.oid AND p.indisprimary
		 LEFT JOIN index_key r ON r.relid = c.oid AND r.indisreplident
		 LEFT JOIN pg_index d ON d.indrelid = c.oid AND d.indisprimary AND NOT (d.indimmediate AND d.indisvalid)
	WHERE c.relkind IN ('r', 'p')
), generated AS MATERIALIZED (
	SELECT attrelid AS relid,
		   array_agg(attname::text ORDER BY attnum) FILTER (WHERE attgenerated = 's') AS stored,
		   array_agg(attname::text ORDER BY attnum) FILTER (WHERE attgenerated <> 's') AS virtual
	FROM pg_attribute
	WHERE attgenerated <> '' AND attnum > 0 AND NOT attisdropped
	GROUP BY attrelid
),

-- What publications of UPDATE or DELETE ask of each table.

demand AS MATERIALIZED (
	SELECT l.kind, l.relid, l.as_relid, k.names, k.title, k.fails, k.pubupdate, k.pubdelete, l.counts,
		   m.attnums, m.filter, i.relreplident, i.key, g.stored, g.virtual, k.sends_stored,
		   -- no column list, and no generated column unpublished
		   bool_and(m.attnums IS NULL AND (version < 180000 OR g.virtual IS NULL AND (g.stored IS NULL OR k.sends_stored)))
			   OVER (PARTITION BY l.relid) AS may_be_full
	FROM leaf l
		 JOIN kind k ON k.id = l.kind
		 JOIN identity i ON i.relid = l.relid
		 LEFT JOIN member m ON m.kind = l.kind AND m.relid = l.as_relid
		 LEFT JOIN generated g ON g.relid = l.relid
		 CROSS JOIN server
	WHERE k.pubupdate OR k.pubdelete
), listed AS (
	-- what it takes to name the table anew in a publication
	SELECT d.*,
		   CASE WHEN i.relhassubclass AND NOT i.relispartition AND d.relid = d.as_relid THEN 'ONLY ' ELSE '' END ||
		   d.as_relid::regclass AS as_name,
		   c.names AS columns, f.names AS filtered,
		   coalesce(' WHERE (' || pg_get_expr(d.filter, d.as_relid) || ')', '') AS filter_text
	FROM demand d
		 JOIN identity i ON i.relid = d.as_relid
		 CROSS JOIN LATERAL (
			SELECT array_agg(a.attname::text ORDER BY a.attnum) FROM pg_attribute a
			WHERE a.attrelid = d.as_relid AND a.attnum = ANY (d.attnums)) c (names)
		 CROSS JOIN LATERAL (
			-- a filter is an expression over one relation, without whole rows
			SELECT array_agg(DISTINCT a.attname::text ORDER BY a.attname::text)
			FROM regexp_matches(d.filter::text, ':varattno (\d+)', 'g') v (number)
				 JOIN pg_attribute a ON a.attrelid = d.as_relid AND a.attnum = v.number[1]::int) f (names)
	WHERE d.attnums IS NOT NULL OR d.filter IS NOT NULL
), refused AS (
	-- 42P10 in the server, but for number 40, which is 55000
	SELECT 40 AS number, 'error' AS severity, d.relid,
		   CASE WHEN relreplident = 'd' AND is_deferrable
				THEN 'a primary key that is DEFERRABLE, which the server does not use as replica identity'
				WHEN relreplident = 'd' THEN 'no primary key to be the replica identity'
				WHEN relreplident = 'i' THEN 'a replica identity by an index that is gone'
				ELSE 'REPLICA IDENTITY NOTHING' END ||
		   CASE WHEN u AND d THEN ', so that UPDATE and DELETE fail'
				WHEN u THEN ', so that UPDATE fails' ELSE ', so that DELETE fails' END AS what,
		   CASE WHEN relreplident <> 'd' AND primary_key IS NOT NULL
				THEN 'ALTER TABLE ' || it || ' REPLICA IDENTITY DEFAULT'
				WHEN is_deferrable
				THEN 'ALTER TABLE ' || it || ' REPLICA IDENTITY USING INDEX ... (unique, not deferrable, of NOT NULL columns)'
				WHEN relreplident <> 'd'
				THEN 'ALTER TABLE ' || it || ' ADD PRIMARY KEY (...), REPLICA IDENTITY DEFAULT'
				ELSE 'ALTER TABLE ' || it || ' ADD PRIMARY KEY (...)' END ||
		   CASE WHEN may_be_full THEN ', or ALTER TABLE ' || it || ' REPLICA IDENTITY FULL' ELSE '' END AS remedy
	FROM (SELECT relid, bool_or(pubupdate) AS u, bool_or(pubdelete) AS d, bool_and(may_be_full) AS may_be_full
		  FROM demand WHERE relreplident <> 'f' AND key IS NULL GROUP BY relid) d
		 JOIN identity i ON i.relid = d.relid
		 CROSS JOIN server
	UNION ALL
	SELECT 41, 'error', relid,
		   CASE WHEN relreplident = 'f'
				THEN 'REPLICA IDENTITY FULL, with which the column list of ' || title || ' is not allowed'
				ELSE 'columns of its replica identity that are not in the column list of ' || title || ' (' || lacking.quoted || ')' END ||
		   ', so that ' || fails,
		   (SELECT string_agg('ALTER PUBLICATION ' || p || ' DROP TABLE ' || as_name || '; ALTER PUBLICATION ' || p || ' ADD TABLE ' ||
							  as_name || CASE WHEN anew.list IS NULL THEN '' ELSE ' (' || anew.list || ')' END || filter_text,
							  '; ' ORDER BY p)
			FROM unnest(names) p)
	FROM listed
		 CROSS JOIN server
		 CROSS JOIN LATERAL (
			SELECT string_agg(quote_ident(k), ', ') FROM unnest(key) k WHERE k <> ALL (columns)) lacking (quoted)
		 CROSS JOIN LATERAL (
			-- none where a list cannot do: with FULL, and before 18 with generated columns
			SELECT string_agg(quote_ident(a.attname), ', ' ORDER BY a.attnum) FROM pg_attribute a
			WHERE a.attrelid = as_relid AND (a.attname = ANY (columns) OR a.attname = ANY (key))
				  AND relreplident <> 'f' AND (version >= 180000 OR NOT coalesce(key && stored, false))) anew (list)
	WHERE attnums IS NOT NULL AND (relreplident = 'f' OR lacking.quoted IS NOT NULL)
	UNION ALL
	SELECT 42, 'error', relid,
		   'a row filter in ' || title || ' on columns outside of its replica identity (' || outside.quoted || '), so that ' || fails,
		   CASE WHEN may_be_full THEN 'ALTER TABLE ' || it || ' REPLICA IDENTITY FULL, or ' ELSE '' END ||
		   (SELECT string_agg('ALTER PUBLICATION ' || p || ' DROP TABLE ' || as_name || '; ALTER PUBLICATION ' || p || ' ADD TABLE ' ||
							  as_name || coalesce(' (' || own_list.quoted || ')', ''), '; ' ORDER BY p)
			FROM unnest(names) p)
	FROM listed
		 CROSS JOIN server
		 CROSS JOIN LATERAL (
			SELECT string_agg(quote_ident(f), ', ') FROM unnest(filtered) f
			WHERE key IS NULL OR f <> ALL (key)) outside (quoted)
		 CROSS JOIN LATERAL (SELECT string_agg(quote_ident(c), ', ') FROM unnest(columns) c) own_list (quoted)
	WHERE relreplident <> 'f' AND outside.quoted IS NOT NULL
	UNION ALL
	-- 18 and later refuse what earlier ones send without
	SELECT 43, CASE WHEN version >= 180000 THEN 'error' ELSE 'warning' END, relid,
		   'generated columns in its replica identity that ' || title || CASE WHEN cardinality(names) > 1 THEN ' do' ELSE ' does' END ||
		   ' not publish (' || (SELECT string_agg(quote_ident(n), ', ') FROM unnest(unsent.columns) n) || '), so that ' ||
		   CASE WHEN version >= 180000 THEN fails ELSE 'clients cannot find rows by it' END,
		   CASE WHEN relreplident = 'f' AND virtual IS NOT NULL OR version < 180000
				THEN 'ALTER TABLE ' || it || ' REPLICA IDENTITY ' ||
					 CASE WHEN relreplident <> 'f' THEN 'FULL'
						  WHEN i.primary_key IS NOT NULL THEN 'DEFAULT'
						  ELSE 'USING INDEX ... (unique, not deferrable, of NOT NULL columns)' END
				ELSE (SELECT string_agg('ALTER PUBLICATION ' || p || ' SET (publish_generated_columns = stored)', '; ' ORDER BY p)
					  FROM unnest(names) p) END
	FROM demand
		 JOIN (SELECT relid AS id, primary_key FROM identity) i ON i.id = relid
		 CROSS JOIN server
		 CROSS JOIN LATERAL (
			SELECT CASE WHEN relreplident = 'f' AND version >= 180000
						THEN nullif(coalesce(virtual, '{}') || CASE WHEN sends_stored THEN '{}' ELSE coalesce(stored, '{}') END, '{}')
						WHEN relreplident <> 'f' AND attnums IS NULL AND NOT sends_stored
						THEN (SELECT array_agg(k) FROM unnest(key) k WHERE k = ANY (stored)) END) unsent (columns)
	WHERE unsent.columns IS NOT NULL
), other_key AS (
	-- a partition of which clients are told another key than it sends
	SELECT 45, 'warning', d.relid,
		   'a replica identity other than the one announced, that of ' || d.as_relid::regclass,
		   CASE WHEN r.key = i.primary_key THEN 'ALTER TABLE ' || it || ' REPLICA IDENTITY DEFAULT'
				WHEN d.may_be_full THEN 'ALTER TABLE ' || it || ' REPLICA IDENTITY FULL'
				WHEN r.relreplident <> 'f'
				THEN 'ALTER TABLE ' || it || ' REPLICA IDENTITY USING INDEX ... (unique, not deferrable, of NOT NULL columns)'
				WHEN r.primary_key = i.key THEN 'ALTER TABLE ' || d.as_relid::regclass || ' REPLICA IDENTITY DEFAULT'
				ELSE 'ALTER TABLE ' || d.as_relid::regclass ||
					 ' REPLICA IDENTITY USING INDEX ... (unique, not deferrable, of NOT NULL columns)' END
	FROM (SELECT DISTINCT relid, as_relid, may_be_full FROM demand
		  WHERE relid <> as_relid AND counts AND relreplident <> 'f' AND key IS NOT NULL) d
		 JOIN identity i ON i.relid = d.relid
		 JOIN identity r ON r.relid = d.as_relid
		 CROSS JOIN server
	WHERE r.relreplident = 'f' OR r.key <> i.key
), omitted AS MATERIALIZED (
	SELECT e.kind, e.as_relid, a.attnum, a.attname, a.attgenerated, m.attnums IS NOT NULL AS by_list
	FROM (SELECT DISTINCT kind, as_relid FROM leaf WHERE counts) e
		 JOIN kind k ON k.id = e.kind
		 LEFT JOIN member m ON m.kind = e.kind AND m.relid = e.as_relid
		 JOIN pg_attribute a ON a.attrelid = e.as_relid
	WHERE a.attnum > 0 AND NOT a.attisdropped
		  AND CASE WHEN m.attnums IS NOT NULL THEN a.attnum <> ALL (m.attnums)
				   WHEN a.attgenerated = 's' THEN NOT k.sends_stored
				   ELSE a.attgenerated <> '' END
), toasted AS (
	SELECT 51, 'note', l.relid,
		   'columns whose unchanged value an UPDATE may leave out: ' ||
		   string_agg(DISTINCT quote_ident(a.attname), ', '),
		   'keep the value the client has' ||
		   CASE WHEN bool_and(l.may_be_full) THEN ', or ALTER TABLE ' || it || ' REPLICA IDENTITY FULL and use the option unchanged_toast' ELSE '' END
	FROM demand l
		 JOIN identity i ON i.relid = l.relid
		 JOIN pg_attribute a ON a.attrelid = l.relid
		 LEFT JOIN omitted o ON o.kind = l.kind AND o.as_relid = l.as_relid AND o.attname = a.attname
		 CROSS JOIN server
	WHERE l.pubupdate AND l.counts AND i.reltoastrelid <> 0 AND i.relreplident <> 'f'
		  AND a.attnum > 0 AND NOT a.attisdropped AND a.attlen = -1 AND a.attstorage <> 'p'
		  AND (i.key IS NULL OR a.attname <> ALL (i.key))
		  AND o.attname IS NULL
	GROUP BY l.relid, it
),

-- Tables of which nothing is published, though it looks like it.

beside AS (
	SELECT DISTINCT d.relid, d.parent, d.relkind, d.relpersistence, pg_partition_root(d.relid)::oid AS root
	FROM descent d
	WHERE d.relkind <> 'p' AND d.relpersistence <> 't'
		  AND d.relid NOT IN (SELECT relid FROM leaf)
), heir (top, parent, relid, relkind, relpersistence) AS (
	SELECT l.relid, i.inhparent, c.oid, c.relkind, c.relpersistence
	FROM (SELECT DISTINCT relid FROM leaf) l
		 JOIN pg_inherits i ON i.inhparent = l.relid
		 JOIN pg_class c ON c.oid = i.inhrelid
	WHERE c.relpersistence <> 't' AND c.oid NOT IN (SELECT relid FROM leaf)
	UNION
	SELECT h.top, i.inhparent, c.oid, c.relkind, c.relpersistence
	FROM heir h
		 JOIN pg_inherits i ON i.inhparent = h.relid
		 JOIN pg_class c ON c.oid = i.inhrelid
	WHERE c.relpersistence <> 't' AND c.oid NOT IN (SELECT relid FROM leaf)
),

-- One finding for each table. Partitions with the same are one of their root.

fault (number, severity, relid, top, one, many, remedy) AS (
	SELECT f.number, f.severity, f.relid,
		   CASE WHEN i.relispartition THEN pg_partition_root(f.relid)::oid ELSE f.relid END,
		   'has ' || f.what, 'partitions with ' || f.what, f.remedy
	FROM (SELECT * FROM refused
		  UNION ALL
		  SELECT * FROM other_key
		  UNION ALL
		  SELECT * FROM toasted) f (number, severity, relid, what, remedy)
		 JOIN identity i ON i.relid = f.relid
	UNION ALL
	SELECT 46, 'warning', relid, root,
		   CASE WHEN relkind = 'f' THEN 'is a foreign table, whose changes are not published'
				ELSE 'is unlogged, so that its changes are not published' END,
		   CASE WHEN relkind = 'f' THEN 'partitions that are foreign tables, whose changes are not published'
				ELSE 'partitions that are unlogged, so that their changes are not published' END,
		   CASE WHEN relkind = 'f' THEN 'ALTER TABLE ' || parent::regclass || ' DETACH PARTITION ' || it
				ELSE 'ALTER TABLE ' || it || ' SET LOGGED' END
	FROM beside CROSS JOIN server
	WHERE relkind = 'f' OR relpersistence <> 'p'
	UNION ALL
	SELECT 46, 'warning', relid, top,
		   CASE WHEN relkind = 'f' THEN 'is a foreign table, whose changes are not published'
				ELSE 'is unlogged, so that its changes are not published' END,
		   CASE WHEN relkind = 'f' THEN 'children that are foreign tables, whose changes are not published'
				ELSE 'children that are unlogged, so that their changes are not published' END,
		   CASE WHEN relkind = 'f' THEN 'ALTER TABLE ' || it || ' NO INHERIT ' || parent::regclass
				ELSE 'ALTER TABLE ' || it || ' SET LOGGED' END
	FROM heir CROSS JOIN server
	WHERE relkind = 'f' OR relpersistence <> 'p'
	UNION ALL
	SELECT 47, 'warning', b.relid, b.root,
		   'is not published, but other partitions of ' || b.root::regclass || ' are',
		   'partitions that are not published, but others are',
		   'ALTER PUBLICATION ' || s.name || ' ADD TABLE ' || it || ', or ALTER PUBLICATION ' || s.name || ' ADD TABLE ' || b.root::regclass
	FROM beside b
		 CROSS JOIN server
		 JOIN (SELECT pg_partition_root(m.relid)::oid AS root, min(k.names[1]) AS name
			   FROM member m JOIN kind k ON k.id = m.kind
			   WHERE m.relispartition GROUP BY 1) s ON s.root = b.root
	WHERE b.relkind = 'r' AND b.relpersistence = 'p'
), counted AS (
	SELECT number, severity, top, one, many, remedy,
		   min(relid) AS relid, count(DISTINCT relid) AS count,
		   (array_agg(DISTINCT relid))[1:3] AS first
	FROM fault
	GROUP BY number, severity, top, one, many, remedy
)
SELECT number, severity, 'table ' || CASE WHEN count > 1 THEN top ELSE relid END::regclass,
	   CASE WHEN count = 1 THEN one
			ELSE 'has ' || count || ' ' || many || ': ' ||
				 (SELECT string_agg(r::regclass::text, ', ') FROM unnest(first) r) ||
				 CASE WHEN count > 3 THEN ', ...' ELSE '' END END,
	   CASE WHEN count = 1 OR strpos(remedy, it) = 0 THEN '' ELSE 'for each of them: ' END ||
	   replace(remedy, it, CASE WHEN count > 1 THEN '...' ELSE relid::regclass::text END)
FROM counted CROSS JOIN server
UNION ALL
SELECT 44, CASE WHEN publication_names IS NULL THEN 'warning' ELSE 'error' END, 'table ' || relid::regclass,
	   CASE WHEN generated THEN 'is published with different values of publish_generated_columns'
			ELSE 'is published with different column lists' END ||
	   ', which the server refuses to a client that names these publications together',
	   CASE WHEN generated THEN 'set publish_generated_columns to the same in ' ELSE 'make the column lists the same in ' END || names
FROM (SELECT e.as_relid AS relid,
			 string_agg(array_to_string(k.names, ', '), ', ' ORDER BY k.names) AS names,
			 count(DISTINCT coalesce(o.columns, '')) > 1 AS differ,
			 g.relid IS NOT NULL AND count(DISTINCT k.sends_stored) FILTER (WHERE m.attnums IS NULL) > 1 AS generated
	  FROM (SELECT DISTINCT kind, as_relid FROM leaf WHERE counts) e
		   JOIN kind k ON k.id = e.kind
		   LEFT JOIN member m ON m.kind = e.kind AND m.relid = e.as_relid
		   LEFT JOIN generated g ON g.relid = e.as_relid
		   LEFT JOIN (SELECT kind, as_relid, string_agg(attnum::text, ' ' ORDER BY attnum) AS columns
					  FROM omitted GROUP BY kind, as_relid) o ON o.kind = e.kind AND o.as_relid = e.as_relid
	  GROUP BY e.as_relid, g.relid
	  HAVING count(*) > 1) t
WHERE differ OR generated
UNION ALL
SELECT 45, 'warning', 'table ' || r.relid::regclass,
	   'has no replica identity to announce for its partitions, so that clients cannot find rows by it',
	   CASE WHEN relreplident <> 'd' AND primary_key IS NOT NULL
			THEN 'ALTER TABLE ' || r.relid::regclass || ' REPLICA IDENTITY DEFAULT, or '
			WHEN relreplident = 'd' AND invalid_key IS NOT NULL AND NOT is_deferrable
			THEN 'ALTER INDEX ' || invalid_key::regclass || ' ATTACH PARTITION ... (the primary key of each partition that lacks it), or '
			WHEN is_deferrable
			THEN 'ALTER TABLE ' || r.relid::regclass || ' REPLICA IDENTITY USING INDEX ... (unique, not deferrable, of NOT NULL columns), or '
			-- the primary key of a partition is in the way of one of the root
			WHEN invalid_key IS NOT NULL OR EXISTS (
				SELECT FROM descent d JOIN pg_index x ON x.indrelid = d.relid
				WHERE d.ancestor = r.relid AND d.relid <> r.relid AND x.indisprimary) THEN ''
			WHEN relreplident <> 'd'
			THEN 'ALTER TABLE ' || r.relid::regclass || ' ADD PRIMARY KEY (...), REPLICA IDENTITY DEFAULT, or '
			ELSE 'ALTER TABLE ' || r.relid::regclass || ' ADD PRIMARY KEY (...), or ' END ||
	   'ALTER TABLE ' || r.relid::regclass || ' REPLICA IDENTITY FULL'
FROM identity r
WHERE r.key IS NULL AND r.relreplident <> 'f'
	  AND r.relid IN (SELECT as_relid FROM demand WHERE as_relid <> relid AND counts)
UNION ALL
SELECT 48, 'warning', 'table ' || h.top::regclass,
	   'has ' || count(DISTINCT h.relid) || CASE WHEN count(DISTINCT h.relid) > 1 THEN ' children' ELSE ' child' END ||
	   ' by inheritance that ' || m.title || ' does not have, nor will it have later ones',
	   CASE WHEN count(DISTINCT h.relid) > 10
			THEN CASE WHEN m.by_name THEN 'ALTER PUBLICATION ' || m.name || ' DROP TABLE ONLY ' || h.top::regclass || '; ' ELSE '' END ||
				 'ALTER PUBLICATION ' || m.name || ' ADD TABLE ' || h.top::regclass || m.part
			ELSE 'ALTER PUBLICATION ' || m.name || ' ADD TABLE ' ||
				 string_agg(DISTINCT 'ONLY ' || h.relid::regclass || m.part, ', ') END
FROM heir h
	 JOIN (SELECT DISTINCT ON (m.relid) m.relid, m.by_name, k.title, k.names[1] AS name,
				  -- the children get the same list and filter
				  coalesce(' (' || (SELECT string_agg(quote_ident(a.attname), ', ' ORDER BY a.attnum)
									FROM pg_attribute a
									WHERE a.attrelid = m.relid AND a.attnum = ANY (m.attnums)) || ')', '') ||
				  coalesce(' WHERE (' || pg_get_expr(m.filter, m.relid) || ')', '') AS part
		   FROM member m
				-- FOR ALL TABLES has them, but where it was told EXCEPT
				JOIN kind k ON k.id = m.kind AND NOT k.puballtables
		   WHERE m.relid IN (SELECT top FROM heir)
		   ORDER BY m.relid, k.names) m ON m.relid = h.top
WHERE h.relkind = 'r' AND h.relpersistence = 'p'
GROUP BY h.top, m.title, m.name, m.by_name, m.part
UNION ALL
SELECT 49, 'note', 'table ' || o.as_relid::regclass,
	   'has columns that ' || k.title || CASE WHEN cardinality(k.names) > 1 THEN ' do' ELSE ' does' END || ' not publish: ' ||
	   string_agg(quote_ident(o.attname), ', ' ORDER BY o.attnum),
	   CASE WHEN o.by_list THEN 'add them to the column list, if clients need them'
			WHEN o.attgenerated <> 's' THEN 'have the client compute virtual columns, or make them stored'
			WHEN version < 180000 THEN 'use the option generated_columns, if clients need them'
			ELSE (SELECT string_agg('ALTER PUBLICATION ' || p || ' SET (publish_generated_columns = stored)', '; ' ORDER BY p)
				  FROM unnest(k.names) p) || ', if clients need them' END
FROM omitted o
	 JOIN kind k ON k.id = o.kind
	 CROSS JOIN server
GROUP BY o.as_relid, k.title, k.names, o.by_list, o.attgenerated <> 's', version, CASE WHEN NOT o.by_list THEN o.attgenerated END
$tables$;

COMMENT ON FUNCTION pgoutput_ext_check_tables(text[]) IS
'part of pgoutput_ext_check: tables that the publications have, and those beside them';

/* Settings that the text of values depends on. */
CREATE FUNCTION pgoutput_ext_check_settings(
	OUT number integer,
	OUT severity text,
	OUT object text,
	OUT finding text,
	OUT remedy text)
RETURNS SETOF record
LANGUAGE sql STABLE COST 1000 ROWS 1
SET search_path = pg_catalog, pg_temp
AS $settings$
WITH expectation (name, pattern, expected) AS (
	VALUES ('DateStyle', '^iso', 'ISO'),
		   ('IntervalStyle', '^postgres$', 'postgres'),
		   ('bytea_output', '^hex$', 'hex'),
		   ('extra_float_digits', '^[123]$', '1')
)
SELECT 60, 'warning', 'setting ' || e.name, 'is ' || s.reset_val || ' by default',
	   -- what the server is started with goes before its files
	   CASE WHEN s.source = 'command line' THEN ''
			ELSE 'ALTER SYSTEM SET ' || e.name || ' = ' || quote_literal(e.expected) || ' and reload, or ' END ||
	   'set it for the client''s role, or use the option value_format'
FROM expectation e JOIN pg_settings s ON lower(s.name) = lower(e.name)
WHERE s.source NOT IN ('global', 'database', 'user', 'database user', 'client')
	  AND s.reset_val !~* e.pattern
UNION ALL
SELECT 61, 'warning', 'setting ' || e.name,
	   'is ' || substr(c.value, strpos(c.value, '=') + 1) ||
	   CASE WHEN d.setrole <> 0 THEN ' for role ' || quote_ident(r.rolname)
			WHEN d.setdatabase = 0 THEN ' for all roles' ELSE '' END ||
	   CASE WHEN d.setdatabase <> 0 THEN ' in this database' ELSE '' END,
	   'ALTER ' || CASE WHEN d.setrole = 0 AND d.setdatabase = 0 THEN 'ROLE ALL'
						WHEN d.setrole = 0 THEN 'DATABASE ' || quote_ident(current_database())
						ELSE 'ROLE ' || quote_ident(r.rolname) ||
							 CASE WHEN d.setdatabase <> 0 THEN ' IN DATABASE ' || quote_ident(current_database()) ELSE '' END
				   END ||
	   ' SET ' || e.name || ' = ' || quote_literal(e.expected) || ', or use the option value_format'
FROM expectation e
	 CROSS JOIN pg_db_role_setting d
	 CROSS JOIN unnest(d.setconfig) c (value)
	 LEFT JOIN pg_roles r ON r.oid = d.setrole
WHERE lower(split_part(c.value, '=', 1)) = lower(e.name)
	  AND substr(c.value, strpos(c.value, '=') + 1) !~* e.pattern
	  AND (d.setrole = 0 OR r.rolreplication OR r.rolsuper)
	  AND (d.setdatabase = 0
		   OR d.setdatabase = (SELECT oid FROM pg_database WHERE datname = current_database()))
$settings$;

COMMENT ON FUNCTION pgoutput_ext_check_settings() IS
'part of pgoutput_ext_check: settings of the server, the database and roles';

/*
 * The body is parsed here and now, so that it finds the functions above
 * whatever schema the extension is in.
 */
CREATE OR REPLACE FUNCTION pgoutput_ext_check(
	slot_name name,
	publication_names text[] DEFAULT NULL,
	OUT severity text,
	OUT object text,
	OUT finding text,
	OUT remedy text)
RETURNS SETOF record
LANGUAGE sql STABLE COST 10000 ROWS 20
SET search_path = pg_catalog, pg_temp
SET jit = off
BEGIN ATOMIC
	SELECT f.severity, f.object, f.finding, f.remedy
	FROM (SELECT * FROM pgoutput_ext_check_slot(pgoutput_ext_check.slot_name)
		  UNION ALL
		  SELECT * FROM pgoutput_ext_check_library(pgoutput_ext_check.slot_name)
		  UNION ALL
		  SELECT * FROM pgoutput_ext_check_subscriptions(pgoutput_ext_check.slot_name)
		  UNION ALL
		  SELECT * FROM pgoutput_ext_check_publications(pgoutput_ext_check.slot_name, publication_names)
		  UNION ALL
		  SELECT * FROM pgoutput_ext_check_tables(publication_names)
		  UNION ALL
		  SELECT * FROM pgoutput_ext_check_settings()) f
	ORDER BY array_position(ARRAY['error', 'warning', 'note'], f.severity), f.number, f.object, f.finding;
END;

/* ---- pgoutput_ext_traffic ----------------------------------------------------- */

CREATE FUNCTION pgoutput_ext_traffic(
	slot_name name,
	upto_lsn pg_lsn DEFAULT NULL,
	upto_nchanges integer DEFAULT NULL,
	VARIADIC options text[] DEFAULT '{}',
	OUT kind text,
	OUT schema_name text,
	OUT table_name text,
	OUT relation_oid oid,
	OUT inserts bigint,
	OUT updates bigint,
	OUT deletes bigint,
	OUT truncates bigint,
	OUT transactions bigint,
	OUT messages bigint,
	OUT bytes bigint,
	OUT largest_message bigint)
RETURNS SETOF record
LANGUAGE c VOLATILE COST 10000 ROWS 100
AS 'MODULE_PATHNAME';

COMMENT ON FUNCTION pgoutput_ext_traffic(name, pg_lsn, integer, text[]) IS
'what a pgoutput or pgoutput_ext slot has waiting, by table; it stays in the slot';
