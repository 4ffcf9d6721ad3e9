#!/usr/bin/env python3
"""Keeps a copy of a table in SQLite up to date, from a slot of pgoutput_ext.

    pip install psycopg2-binary        (Debian: python3-psycopg2)
    copy_table.py 'host=... dbname=...' copy.sqlite account

On the server, once:

    CREATE PUBLICATION account FOR TABLE account;
    SELECT pg_create_logical_replication_slot('account', 'pgoutput_ext');

The table has a primary key, and its rows as of the slot's making are not part of the
stream: start with an empty table, or copy it first under the slot's snapshot.

A copy is right if it holds each change once.  So the position is stored with the
data, in the same transaction: after a crash the server sends again what it has
no confirmation for, and what the copy already has is passed over.
"""

import signal
import sqlite3
import struct
import sys

import psycopg2
import psycopg2.extras


class Reader:
    """Takes a message apart."""

    def __init__(self, data):
        self.data = data
        self.at = 0

    def number(self, format):
        value = struct.unpack_from("!" + format, self.data, self.at)[0]
        self.at += struct.calcsize("!" + format)
        return value

    def bytes(self, length):
        self.at += length
        return self.data[self.at - length:self.at]

    def string(self):
        end = self.data.index(0, self.at)
        text = self.bytes(end - self.at).decode()
        self.at += 1
        return text

    def row(self):
        """Values as text, None for NULL, ... for a TOAST value that did not change."""
        values = []
        for _ in range(self.number("H")):
            kind = self.bytes(1)
            values.append(None if kind == b"n" else ... if kind == b"u" else self.bytes(self.number("I")).decode())
        return values


class Copy:
    """The copy: one table, and one row with the position."""

    def __init__(self, path, table):
        self.table = table
        self.columns = self.keys = None
        self.database = sqlite3.connect(path, isolation_level=None)
        self.database.execute("PRAGMA synchronous = FULL")
        self.database.execute("CREATE TABLE IF NOT EXISTS position (lsn INTEGER)")
        row = self.database.execute("SELECT lsn FROM position").fetchone()
        if row is None:
            self.database.execute("INSERT INTO position VALUES (0)")
        self.position = row[0] if row else 0

    def relation(self, columns, keys):
        """The table is as it is from here on; a column that is new is added."""
        self.columns, self.keys = columns, keys
        self.database.execute("CREATE TABLE IF NOT EXISTS %s (%s, PRIMARY KEY (%s))" % (
            quoted(self.table), ", ".join(map(quoted, columns)), ", ".join(map(quoted, keys))))
        have = {row[1] for row in self.database.execute("PRAGMA table_info(%s)" % quoted(self.table))}
        for column in columns:
            if column not in have:
                self.database.execute("ALTER TABLE %s ADD %s" % (quoted(self.table), quoted(column)))

    def insert(self, row):
        self.database.execute("INSERT INTO %s (%s) VALUES (%s)" % (
            quoted(self.table), ", ".join(map(quoted, self.columns)), ", ".join("?" * len(row))), row)

    def update(self, old, new):
        set_columns = [i for i, value in enumerate(new) if value is not ...]
        where, values = self.where(old or new)
        self.database.execute("UPDATE %s SET %s WHERE %s" % (
            quoted(self.table), ", ".join(quoted(self.columns[i]) + " = ?" for i in set_columns), where),
            [new[i] for i in set_columns] + values)

    def delete(self, old):
        where, values = self.where(old)
        self.database.execute("DELETE FROM %s WHERE %s" % (quoted(self.table), where), values)

    def truncate(self):
        self.database.execute("DELETE FROM %s" % quoted(self.table))

    def where(self, row):
        return " AND ".join(quoted(key) + " = ?" for key in self.keys), \
            [row[self.columns.index(key)] for key in self.keys]

    def commit(self, position):
        self.database.execute("UPDATE position SET lsn = ?", (position,))
        self.database.execute("COMMIT")
        self.position = position


def quoted(name):
    return '"' + name.replace('"', '""') + '"'


class Consumer:
    """Called with each message, in the order of the commits."""

    def __init__(self, copy):
        self.copy = copy
        self.known = False

    def __call__(self, message):
        reader = Reader(bytes(message.payload))
        kind = reader.bytes(1)
        if kind == b"B":
            # The position of the commit: at or before the copy's, all of it is there.
            self.known = reader.number("Q") <= self.copy.position
            if not self.known:
                self.copy.database.execute("BEGIN")
        elif kind == b"R":
            self.relation(reader)
        elif kind == b"C":
            reader.number("B")
            commit = reader.number("Q")
            end = reader.number("Q")
            if not self.known:
                self.copy.commit(commit)
            # Only now: what is confirmed is not sent again.
            message.cursor.send_feedback(flush_lsn=end)
        elif kind in b"IUDT" and not self.known:
            self.change(kind, reader)

    def relation(self, reader):
        reader.number("I")
        reader.string(), reader.string(), reader.bytes(1)
        columns, keys = [], []
        for _ in range(reader.number("H")):
            is_key = reader.number("B") & 1
            columns.append(reader.string())
            reader.number("I"), reader.number("i")
            if is_key:
                keys.append(columns[-1])
        self.copy.relation(columns, keys)

    def change(self, kind, reader):
        if kind == b"T":
            return self.copy.truncate()
        reader.number("I")
        rows = {}
        while reader.at < len(reader.data):
            which = reader.bytes(1)
            rows["new" if which == b"N" else "old"] = reader.row()
        if kind == b"I":
            self.copy.insert(rows["new"])
        elif kind == b"U":
            self.copy.update(rows.get("old"), rows["new"])
        else:
            self.copy.delete(rows["old"])


def main(conninfo, path, table):
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    copy = Copy(path, table)
    connection = psycopg2.connect(conninfo, connection_factory=psycopg2.extras.LogicalReplicationConnection)
    cursor = connection.cursor()
    cursor.start_replication(slot_name=table, decode=False, options={
        "proto_version": 1, "publication_names": table, "value_format": "canonical", "missing_identity": "error"})
    cursor.consume_stream(Consumer(copy))


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
