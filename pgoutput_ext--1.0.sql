\echo Use "CREATE EXTENSION pgoutput_ext" to load this file. \quit
