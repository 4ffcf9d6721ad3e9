"""psycopg2: hands on the messages of a slot as they come (see t/ClientTest.pm)."""

import json
import sys

import psycopg2
import psycopg2.extras

spec = json.loads(sys.argv[1])
connection = psycopg2.connect(
    host=spec["host"], port=spec["port"], user=spec["user"], dbname=spec["dbname"],
    connection_factory=psycopg2.extras.LogicalReplicationConnection)
cursor = connection.cursor()
cursor.start_replication(slot_name=spec["slot"], decode=False, options=spec["options"])


class Ended(Exception):
    pass


class Consumer:
    last = False

    def __call__(self, message):
        data = bytes(message.payload)
        print("%X %X %s" % (message.data_start, message.wal_end, data.hex()))
        message.cursor.send_feedback(flush_lsn=message.data_start)
        if spec["end"].encode() in data:
            self.last = True
        elif self.last and data[:1] == b"C":
            raise Ended


try:
    cursor.consume_stream(Consumer())
except Ended:
    print("END", flush=True)
sys.stdin.read()
connection.close()
