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
