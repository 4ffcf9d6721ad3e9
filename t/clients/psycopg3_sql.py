"""psycopg 3: reads a slot by the server's SQL functions, in both formats of the
protocol (see t/ClientTest.pm)."""

import json
import sys

import psycopg

spec = json.loads(sys.argv[1])
options = [text for option in spec["options"].items() for text in map(str, option)]
with psycopg.connect(
        host=spec["host"], port=spec["port"], user=spec["user"], dbname=spec["dbname"], autocommit=True) as connection:
    for binary in (False, True):
        cursor = connection.cursor(binary=binary)
        cursor.execute(
            "SELECT lsn::text, xid::text, data FROM pg_logical_slot_peek_binary_changes(%s, NULL, NULL, VARIADIC %s::text[])",
            (spec["slot"], options))
        for lsn, xid, data in cursor:
            print(lsn, xid, bytes(data).hex())
    print("PID", connection.info.backend_pid)
    print("END", flush=True)
    sys.stdin.read()
