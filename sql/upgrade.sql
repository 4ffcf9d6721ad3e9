-- An extension that was installed as 1.0 and updated is the same as a new one.

SET client_min_messages = warning;
DROP EXTENSION IF EXISTS pgoutput_ext;
CREATE SCHEMA upgrade;
SET search_path = upgrade;
\pset format unaligned

-- All that the catalogs say of the extension's objects, but for their OIDs.
CREATE VIEW upgrade.object AS
SELECT p.oid::regprocedure::text AS name, pg_get_functiondef(p.oid) AS definition,
	obj_description(p.oid, 'pg_proc') AS comment, p.proacl::text AS acl, p.proowner
FROM pg_depend d JOIN pg_proc p ON p.oid = d.objid
WHERE d.classid = 'pg_proc'::regclass AND d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e'
	AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'pgoutput_ext');
CREATE FUNCTION upgrade.others() RETURNS bigint LANGUAGE sql AS $$
	SELECT count(*) FROM pg_depend WHERE refclassid = 'pg_extension'::regclass AND deptype = 'e' AND classid <> 'pg_proc'::regclass
		AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'pgoutput_ext') $$;

CREATE EXTENSION pgoutput_ext SCHEMA public VERSION '1.0';
SELECT name FROM object ORDER BY name COLLATE "C";
ALTER EXTENSION pgoutput_ext UPDATE;
SELECT extversion FROM pg_extension WHERE extname = 'pgoutput_ext';
CREATE TEMPORARY TABLE updated AS SELECT * FROM object;
SELECT upgrade.others();

DROP EXTENSION pgoutput_ext;
CREATE EXTENSION pgoutput_ext SCHEMA public;
SELECT extversion FROM pg_extension WHERE extname = 'pgoutput_ext';
SELECT upgrade.others();
SELECT * FROM object EXCEPT SELECT * FROM updated;
SELECT * FROM updated EXCEPT SELECT * FROM object;
SELECT count(*) = (SELECT count(*) FROM updated) AS same_number, bool_and(comment IS NOT NULL) AS all_have_comments FROM object;

-- The library's own version, and what 1.1 says of a function of 1.0.
SELECT public.pgoutput_ext_version();
SELECT provolatile FROM pg_proc WHERE proname = 'pgoutput_ext_decode_stream';
DROP EXTENSION pgoutput_ext;
DROP SCHEMA upgrade CASCADE;
