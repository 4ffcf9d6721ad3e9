// Keeps a copy of a table in a file up to date, from a slot of pgoutput_ext.
//
//     npm install pg-logical-replication
//     node copy_table.mjs postgresql://... copy.json account
//
// On the server, once:
//
//     CREATE PUBLICATION account FOR TABLE account;
//     SELECT pg_create_logical_replication_slot('account', 'pgoutput_ext');
//
// The table has a primary key, and its rows as of the slot's making are not part of
// the stream: start with an empty table, or copy it first under the slot's snapshot.
//
// A copy is right if it holds each change once. So the position is stored with the
// data, in one file that is replaced as a whole: after a crash the server sends again
// what it has no confirmation for, and what the copy already has is passed over.

import { open, readFile, rename } from 'node:fs/promises';
import { createRequire } from 'node:module';

// The package is looked for here, or where NODE_PACKAGES says.
const require = createRequire(process.env.NODE_PACKAGES ? `${process.env.NODE_PACKAGES}/` : import.meta.url);
const { LogicalReplicationService, PgoutputPlugin } = require('pg-logical-replication');
const [connectionString, path, table] = process.argv.slice(2);

if (!table) {
  console.error('usage: node copy_table.mjs postgresql://... copy.json table');
  process.exit(2);
}

// An LSN as a number that can be compared.
const number = (lsn) => lsn.split('/').reduce((sum, half) => (sum << 32n) + BigInt(`0x${half}`), 0n);

// ---- the copy: rows by key, and the position of the last commit ----------------------

const stored = await readFile(path, 'utf8').then(JSON.parse, () => ({ position: '0/0', rows: [] }));
const rows = new Map(stored.rows);
let position = stored.position;

async function store() {
  const file = await open(`${path}.new`, 'w');
  await file.writeFile(JSON.stringify({ position, rows: [...rows] }));
  await file.sync();
  await file.close();
  await rename(`${path}.new`, path);
}

const keyOf = (relation, row) => JSON.stringify(relation.keyColumns.map((name) => row[name]));

// A value that is undefined is a TOAST value that did not change.
const merge = (row, values) =>
  ({ ...row, ...Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) });

function apply(message) {
  const { relation } = message;
  switch (message.tag) {
    case 'insert':
      rows.set(keyOf(relation, message.new), message.new);
      break;
    case 'update': {
      const before = keyOf(relation, message.key ?? message.old ?? message.new);
      const row = merge(rows.get(before), message.new);
      rows.delete(before);
      rows.set(keyOf(relation, row), row);
      break;
    }
    case 'delete':
      rows.delete(keyOf(relation, message.key ?? message.old));
      break;
    case 'truncate':
      rows.clear();
      break;
  }
}

// ---- the stream ------------------------------------------------------------------------

// The package has no place for options beyond three; its plugin is there to be extended.
class Plugin extends PgoutputPlugin {
  start(client, slot, lsn) {
    return client.query(`START_REPLICATION SLOT "${slot}" LOGICAL ${lsn} (
      proto_version '1', publication_names '"${table}"', value_format 'canonical', missing_identity 'error')`);
  }
}

const service = new LogicalReplicationService({ connectionString },
  // The next message waits until the one before it is done with, and nothing is
  // confirmed that is not stored.
  { acknowledge: { auto: false, timeoutSeconds: 0 }, flowControl: { enabled: true } });
let known = false;

// acknowledge() confirms the byte behind the LSN that it is given. So it is given where
// the commit begins: behind its end the next transaction may have its own commit.
service.on('data', async (lsn, message) => {
  if (message.tag === 'begin') {
    // At or before the copy's position, all of the transaction is there.
    known = number(message.commitLsn) <= number(position);
  } else if (message.tag === 'commit') {
    if (!known) {
      position = message.commitLsn;
      await store();
    }
    await service.acknowledge(position);
  } else if (!known) {
    apply(message);
  }
});
service.on('heartbeat', async (lsn, timestamp, shouldRespond) => {
  // An answer, which confirms no more than is stored.
  if (shouldRespond) await service.acknowledge(position);
});
service.on('error', (error) => {
  console.error(error);
  process.exit(1);
});
process.on('SIGTERM', () => process.exit(0));
await service.subscribe(new Plugin({ protoVersion: 1, publicationNames: [] }), table);
