// pgwire: what its decoder of pgoutput hands on (see t/ClientTest.pm).

import { line, load, socket, spec, standardInputEnds, write } from './common.mjs';

const { pgconnect } = await load('pgwire');
const connection = await pgconnect({
  path: socket, user: spec.user, database: spec.dbname, replication: 'database' });
const stream = connection.logicalReplication({ slot: spec.slot, options: spec.options });
let last = false;

reading:
for await (const chunk of stream.pgoutputDecode()) {
  for (const { before, after, ...message } of chunk.messages) {
    // The rows as objects, whose values are decoded when they are asked for. The
    // time is that of sending.
    const rows = { before: before && [...before], after: after && [...after] };
    write(line({ ...message, ...rows, time: undefined, relation: message.relation?.relationOid }));
    if (message.tag === 'insert' && message.afterRaw.t?.toString() === spec.end) last = true;
    if (last && message.tag === 'commit') break reading;
    stream.ack(message.lsn ?? '0/0');
  }
}
write('END');
await standardInputEnds();
await connection.end();
