// postgres.js: what subscribe() hands on (see t/ClientTest.pm). It makes a slot of
// its own, temporary, of pgoutput; so it says READY when that is there.

import { line, load, socket, spec, standardInputEnds, write } from './common.mjs';

const { default: postgres } = await load('postgres');
const sql = postgres({ path: socket, user: spec.user, database: spec.dbname, publications: spec.publications });

function change(row, { command, relation, key, old }, event) {
  const columns = relation.columns.map(({ key, name, type, atttypmod }) => ({ key, name, type, atttypmod }));
  write(line({ event, command, table: `${relation.schema}.${relation.table}`, columns, key, old, row }));
  if (event === '*' && row?.t === spec.end) write('END');
}

const { unsubscribe, state } = await sql.subscribe('*', change, () => write('READY'), (error) => write('ERROR', error.message));
await sql.subscribe('insert:plain', change);
await sql.subscribe('*:whole', change);
await standardInputEnds();
process.exit(0);
