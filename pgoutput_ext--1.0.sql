/* pgoutput_ext--1.0.sql */

\echo Use "CREATE EXTENSION pgoutput_ext" to load this file. \quit

CREATE FUNCTION pgoutput_ext_peek(
	slot_name name,
	upto_lsn pg_lsn DEFAULT NULL,
	upto_nchanges integer DEFAULT NULL,
	VARIADIC options text[] DEFAULT '{}',
	OUT lsn pg_lsn,
	OUT xid xid,
	OUT message text,
	OUT relation text,
	OUT old jsonb,
	OUT new jsonb,
	OUT detail jsonb)
RETURNS SETOF record
LANGUAGE c VOLATILE COST 1000 ROWS 1000
AS 'MODULE_PATHNAME';

COMMENT ON FUNCTION pgoutput_ext_peek(name, pg_lsn, integer, text[]) IS
'read the changes of a pgoutput or pgoutput_ext slot, and keep them in the slot';

CREATE FUNCTION pgoutput_ext_get(
	slot_name name,
	upto_lsn pg_lsn DEFAULT NULL,
	upto_nchanges integer DEFAULT NULL,
	VARIADIC options text[] DEFAULT '{}',
	OUT lsn pg_lsn,
	OUT xid xid,
	OUT message text,
	OUT relation text,
	OUT old jsonb,
	OUT new jsonb,
	OUT detail jsonb)
RETURNS SETOF record
LANGUAGE c VOLATILE COST 1000 ROWS 1000
AS 'MODULE_PATHNAME';

COMMENT ON FUNCTION pgoutput_ext_get(name, pg_lsn, integer, text[]) IS
'read the changes of a pgoutput or pgoutput_ext slot, and move the slot on';

CREATE FUNCTION pgoutput_ext_decode(
	message bytea,
	streaming boolean DEFAULT false)
RETURNS jsonb
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME';

COMMENT ON FUNCTION pgoutput_ext_decode(bytea, boolean) IS
'fields of one logical replication message';

CREATE FUNCTION pgoutput_ext_decode_stream(
	messages bytea[],
	streaming boolean DEFAULT false,
	OUT number integer,
	OUT message text,
	OUT relation text,
	OUT old jsonb,
	OUT new jsonb,
	OUT detail jsonb)
RETURNS SETOF record
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 100 ROWS 1000
AS 'MODULE_PATHNAME';

COMMENT ON FUNCTION pgoutput_ext_decode_stream(bytea[], boolean) IS
'logical replication messages, with the names that their Relations give';

CREATE FUNCTION pgoutput_ext_options(
	OUT name text,
	OUT category text,
	OUT allowed_values text,
	OUT default_value text,
	OUT description text)
RETURNS SETOF record
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 10 ROWS 30
AS 'MODULE_PATHNAME';

COMMENT ON FUNCTION pgoutput_ext_options() IS
'options of the output plugin pgoutput_ext on this server';

/*
 * What would bite a client of the slot, one row per finding.
 *
 * Columns of the catalogs that not every server version has are asked for
 * through to_jsonb(), where a missing one is null.
 */
CREATE FUNCTION pgoutput_ext_check(
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
AS $check$
WITH slot AS MATERIALIZED (
	SELECT s.*, to_jsonb(s) AS j, 'slot ' || quote_ident(s.slot_name) AS title
	FROM pg_replication_slots s
	WHERE s.slot_name = pgoutput_ext_check.slot_name
), server AS MATERIALIZED (
	SELECT CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn()
				ELSE pg_current_wal_lsn() END AS lsn,
		   least(1024, nullif((SELECT setting FROM pg_settings
							   WHERE name = 'max_slot_wal_keep_size'), '-1')::bigint / 2)
			   * 1024 * 1024 AS far_behind
), publication AS MATERIALIZED (
	SELECT p.oid, p.pubname, p.pubupdate, p.pubdelete, p.pubviaroot, p.xmin,
		   to_jsonb(p) ? 'pubgencols' AS may_publish_generated,
		   'publication ' || quote_ident(p.pubname) AS title
	FROM pg_publication p
	WHERE publication_names IS NULL OR p.pubname = ANY (publication_names)
), publication_table AS MATERIALIZED (
	SELECT t.pubname, t.schemaname, t.tablename, to_jsonb(t) -> 'attnames' AS attnames
	FROM pg_publication_tables t
	WHERE publication_names IS NULL OR t.pubname = ANY (publication_names)
), published AS MATERIALIZED (
	-- tables as the publications name them
	SELECT p.pubname, p.pubupdate, p.pubdelete, p.pubviaroot, p.may_publish_generated,
		   c.oid AS relid, c.relkind, c.relispartition,
		   'table ' || c.oid::regclass AS title,
		   t.attnames
	FROM publication p
		 JOIN publication_table t ON t.pubname = p.pubname
		 JOIN pg_namespace n ON n.nspname = t.schemaname
		 JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = t.tablename
), leaf AS MATERIALIZED (
	-- tables that hold the rows, with the columns of their replica identity
	SELECT p.*, c.oid AS leafid, c.relkind AS leafkind, c.relpersistence,
		   c.reltoastrelid, c.relreplident, 'table ' || c.oid::regclass AS leaftitle,
		   (SELECT array_agg(a.attname ORDER BY a.attname)
			FROM pg_index i
				 JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey)
			WHERE i.indrelid = c.oid AND i.indisvalid AND i.indimmediate
				  AND CASE c.relreplident WHEN 'd' THEN i.indisprimary
										  WHEN 'i' THEN i.indisreplident END) AS key
	FROM published p
		 CROSS JOIN LATERAL (
			SELECT p.relid AS oid WHERE p.relkind <> 'p'
			UNION ALL
			SELECT t.relid FROM pg_partition_tree(p.relid) t
			WHERE p.relkind = 'p' AND t.isleaf) l
		 JOIN pg_class c ON c.oid = l.oid
), setting (name, pattern, expected) AS (
	VALUES ('DateStyle', '^iso', 'ISO'),
		   ('IntervalStyle', '^postgres$', 'postgres'),
		   ('bytea_output', '^hex$', 'hex'),
		   ('extra_float_digits', '^[123]$', '1')
), finding (number, severity, object, finding, remedy) AS (
	-- the slot
	SELECT 10, 'error', 'slot ' || quote_ident(pgoutput_ext_check.slot_name),
		   'does not exist',
		   'SELECT pg_create_logical_replication_slot(' ||
		   quote_literal(pgoutput_ext_check.slot_name) || ', ''pgoutput_ext'')'
	WHERE NOT EXISTS (SELECT FROM slot)
	UNION ALL
	SELECT 11, 'error', title, 'is a physical slot, which cannot be decoded',
		   'create a logical slot'
	FROM slot WHERE slot_type <> 'logical'
	UNION ALL
	SELECT 12, 'error', title, 'belongs to database ' || quote_ident(database),
		   'connect to that database'
	FROM slot WHERE database <> current_database()
	UNION ALL
	SELECT 13, 'error', title, 'uses the output plugin ' || plugin,
		   'create a slot with pgoutput_ext or pgoutput'
	FROM slot WHERE plugin NOT IN ('pgoutput', 'pgoutput_ext')
	UNION ALL
	SELECT 14, 'error', title,
		   'is invalid: ' || coalesce(j ->> 'invalidation_reason', 'the WAL it needs is gone'),
		   'drop it, create it anew and copy the tables again'
	FROM slot
	WHERE wal_status = 'lost' OR j ->> 'invalidation_reason' IS NOT NULL
		  OR j ->> 'conflicting' = 'true'
	UNION ALL
	SELECT 15, 'error', title, 'is about to lose the WAL it needs',
		   'read from it now, or raise max_slot_wal_keep_size'
	FROM slot WHERE wal_status = 'unreserved'
	UNION ALL
	SELECT 16, 'warning', title,
		   pg_size_pretty(server.lsn - slot.confirmed_flush_lsn) || ' behind',
		   'see that its client reads and confirms'
	FROM slot, server WHERE server.lsn - slot.confirmed_flush_lsn > server.far_behind
	UNION ALL
	SELECT 17, 'note', title, 'is inactive: no client reads from it, and it holds back WAL and VACUUM',
		   'start its client, or drop it'
	FROM slot WHERE NOT active
	UNION ALL
	SELECT 18, 'error', 'setting wal_level', 'is ' || current_setting('wal_level'),
		   'ALTER SYSTEM SET wal_level = ''logical'', and restart the server'
	WHERE current_setting('wal_level') <> 'logical'
		  AND current_setting('effective_wal_level', true) IS DISTINCT FROM 'logical'
	-- the publications
	UNION ALL
	SELECT 20, 'error', 'publication ' || quote_ident(n.name), 'does not exist',
		   'create it before the slot, or move the slot past its creation with pg_replication_slot_advance'
	FROM unnest(publication_names) n (name)
	WHERE NOT EXISTS (SELECT FROM publication p WHERE p.pubname = n.name)
	UNION ALL
	SELECT 21, 'error', 'database ' || quote_ident(current_database()),
		   'has no publication', 'CREATE PUBLICATION'
	WHERE publication_names IS NULL AND NOT EXISTS (SELECT FROM publication)
	UNION ALL
	SELECT 22, 'warning', p.title,
		   'may be younger than the slot''s position, and not exist for older changes',
		   'read the slot up to its creation, or move it there with pg_replication_slot_advance'
	FROM publication p, slot
	WHERE slot.database = current_database() AND age(p.xmin) <= age(slot.catalog_xmin)
	UNION ALL
	SELECT 23, 'warning', p.title, 'publishes no table',
		   'ALTER PUBLICATION ' || quote_ident(p.pubname) || ' ADD TABLE'
	FROM publication p
	WHERE NOT EXISTS (SELECT FROM published t WHERE t.pubname = p.pubname)
	-- the tables
	UNION ALL
	SELECT DISTINCT 30, 'error', leaftitle,
		   'has no replica identity, so that UPDATE and DELETE fail or are sent without a key',
		   'add a primary key, or ALTER TABLE ... REPLICA IDENTITY'
	FROM leaf
	WHERE (pubupdate OR pubdelete) AND relpersistence = 'p' AND leafkind = 'r'
		  AND relreplident <> 'f' AND key IS NULL
	UNION ALL
	SELECT DISTINCT 31, 'error', leaftitle,
		   'has a replica identity with columns that are not published, so that UPDATE and DELETE fail',
		   'add to the column list: ' ||
		   (SELECT string_agg(quote_ident(k), ', ' ORDER BY k) FROM unnest(key) k WHERE NOT attnames ? k)
	FROM leaf
	WHERE (pubupdate OR pubdelete) AND NOT attnames ?& key::text[]
	UNION ALL
	SELECT 32, 'error', title, 'is published with different column lists, which the server refuses',
		   'make the column lists the same in ' || string_agg(quote_ident(pubname), ', ' ORDER BY pubname)
	FROM published
	GROUP BY title HAVING count(DISTINCT attnames) > 1
	UNION ALL
	SELECT DISTINCT 33, 'warning', title,
		   'announces another key than partition ' || leafid::regclass || ' sends',
		   'give the partition the replica identity of the table it is published as'
	FROM leaf
	WHERE relkind = 'p' AND pubviaroot AND (pubupdate OR pubdelete) AND key IS NOT NULL
		  AND key IS DISTINCT FROM
			  (SELECT array_agg(a.attname ORDER BY a.attname)
			   FROM pg_class c
					JOIN pg_index i ON i.indrelid = c.oid
					JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey)
			   WHERE c.oid = leaf.relid AND i.indisvalid AND i.indimmediate
					 AND CASE c.relreplident WHEN 'd' THEN i.indisprimary
											 WHEN 'i' THEN i.indisreplident END)
	UNION ALL
	SELECT DISTINCT 34, 'warning', leaftitle,
		   CASE WHEN leafkind = 'f' THEN 'is a foreign table, whose changes are not published'
				ELSE 'is unlogged, so that its changes are not published' END,
		   'keep published rows in permanent tables'
	FROM leaf WHERE leafkind = 'f' OR relpersistence <> 'p'
	UNION ALL
	SELECT DISTINCT 35, 'warning', 'table ' || t.relid::regclass,
		   'is not published, but other partitions of ' || p.root::regclass || ' are',
		   'publish ' || p.root::regclass || ', or this partition too'
	FROM (SELECT DISTINCT pg_partition_root(relid) AS root
		  FROM published WHERE relispartition) p
		 CROSS JOIN LATERAL pg_partition_tree(p.root) t
	WHERE t.isleaf AND NOT EXISTS (SELECT FROM leaf l WHERE l.leafid = t.relid)
	UNION ALL
	SELECT 36, 'note', p.title,
		   'columns that are not published: ' || string_agg(quote_ident(a.attname), ', ' ORDER BY a.attnum),
		   'add them to the column list, or see publish_generated_columns, if clients need them'
	FROM (SELECT DISTINCT ON (relid) relid, title, attnames, may_publish_generated
		  FROM published ORDER BY relid, attnames) p
		 JOIN pg_attribute a ON a.attrelid = p.relid AND a.attnum > 0 AND NOT a.attisdropped
	WHERE a.attgenerated <> '' AND NOT p.may_publish_generated
		  OR NOT p.attnames ? a.attname
	GROUP BY p.relid, p.title
	UNION ALL
	SELECT 37, 'note', l.title,
		   'an UPDATE may leave out the unchanged value of: ' ||
		   string_agg(DISTINCT quote_ident(a.attname), ', '),
		   'keep the value the client has, or use REPLICA IDENTITY FULL and the option unchanged_toast'
	FROM leaf l
		 JOIN pg_attribute a ON a.attrelid = l.leafid AND a.attnum > 0 AND NOT a.attisdropped
	WHERE l.pubupdate AND l.reltoastrelid <> 0 AND l.relreplident <> 'f'
		  AND a.attlen = -1 AND a.attstorage <> 'p'
		  AND (l.key IS NULL OR a.attname <> ALL (l.key))
		  AND (l.attnames IS NULL OR l.attnames ? a.attname)
	GROUP BY l.relid, l.title
	-- the settings that the text of values depends on
	UNION ALL
	SELECT 40, 'warning', 'setting ' || e.name, 'is ' || s.reset_val || ' by default',
		   'set it to ' || e.expected || ' for the client''s role, or use the option value_format'
	FROM setting e JOIN pg_settings s ON lower(s.name) = lower(e.name)
	WHERE s.source NOT IN ('database', 'user', 'database user', 'client')
		  AND s.reset_val !~* e.pattern
	UNION ALL
	SELECT 41, 'warning', 'setting ' || e.name,
		   'is ' || substr(c.value, strpos(c.value, '=') + 1) ||
		   coalesce(' for role ' || quote_ident(r.rolname), '') ||
		   CASE WHEN d.setdatabase <> 0 THEN ' in this database' ELSE '' END,
		   'set it to ' || e.expected || ' there, or use the option value_format'
	FROM setting e
		 CROSS JOIN pg_db_role_setting d
		 CROSS JOIN unnest(d.setconfig) c (value)
		 LEFT JOIN pg_roles r ON r.oid = d.setrole
	WHERE lower(split_part(c.value, '=', 1)) = lower(e.name)
		  AND substr(c.value, strpos(c.value, '=') + 1) !~* e.pattern
		  AND (d.setrole = 0 OR r.rolreplication OR r.rolsuper)
		  AND d.setdatabase IN (0, (SELECT oid FROM pg_database WHERE datname = current_database()))
)
SELECT severity, object, finding, remedy
FROM finding
ORDER BY array_position(ARRAY['error', 'warning', 'note'], severity), number, object, finding
$check$;

COMMENT ON FUNCTION pgoutput_ext_check(name, text[]) IS
'what would bite a client that reads these publications from this slot';
