/* pgoutput_ext_test--1.0.sql */

\echo Use "CREATE EXTENSION pgoutput_ext_test" to load this file. \quit

-- see encoder_check.c
CREATE FUNCTION encode_direct(value "any", is_binary bool) RETURNS bytea
STRICT LANGUAGE c AS 'MODULE_PATHNAME';
CREATE FUNCTION encode_by_function(value "any", is_binary bool) RETURNS bytea
STRICT LANGUAGE c AS 'MODULE_PATHNAME', 'encode_by_server_function';
CREATE FUNCTION check_encoder(type regtype, is_binary bool, seed int8, count int8) RETURNS text
STRICT LANGUAGE c AS 'MODULE_PATHNAME';
CREATE FUNCTION time_encoder(type regtype, is_binary bool, count int8) RETURNS text
STRICT LANGUAGE c AS 'MODULE_PATHNAME';

-- see reencode.c
CREATE FUNCTION reencode(message bytea, streaming boolean) RETURNS bytea
STRICT LANGUAGE c AS 'MODULE_PATHNAME';
