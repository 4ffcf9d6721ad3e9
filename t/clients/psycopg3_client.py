"""psycopg 3 has no replication of its own, but libpq's functions: hands on the
messages of a slot as they come (see t/ClientTest.pm)."""

import json
import select
import struct
import sys

from psycopg import pq

spec = json.loads(sys.argv[1])
connection = pq.PGconn.connect(
    "host={host} port={port} user={user} dbname={dbname} replication=database".format(**spec).encode())
assert connection.status == pq.ConnStatus.OK, connection.error_message
options = ", ".join("\"%s\" '%s'" % option for option in spec["options"].items())
result = connection.exec_(('START_REPLICATION SLOT "%s" LOGICAL 0/0 (%s)' % (spec["slot"], options)).encode())
assert result.status == pq.ExecStatus.COPY_BOTH, result.error_message


def answer(position):
    connection.put_copy_data(struct.pack("!cQQQQB", b"r", position, position, position, 0, 0))
    connection.flush()


last = False
while True:
    length, copied = connection.get_copy_data(1)
    if length == 0:
        select.select([connection.socket], [], [])
        connection.consume_input()
        continue
    assert length > 0, connection.error_message
    copied = bytes(copied)
    if copied[:1] == b"k":
        end, _, wanted = struct.unpack("!QqB", copied[1:18])
        if wanted:
            answer(0)
        continue
    start, end, _ = struct.unpack("!QQq", copied[1:25])
    data = copied[25:]
    print("%X %X %s" % (start, end, data.hex()))
    if spec["end"].encode() in data:
        last = True
    elif last and data[:1] == b"C":
        break
print("END", flush=True)
sys.stdin.read()
connection.finish()
