// pgwire: what its decoder of pgoutput hands on (see t/ClientTest.pm).

import { isLastRow, line, load, spec, standardInputEnds, write } from './common.mjs';

const { pgconnect } = await load('pgwire');
const connection = await pgconnect({
  host: spec.host, port: spec.port, user: spec.user, database: spec.dbname, replication: 'database' });
const stream = connection.logicalReplication({ slot: spec.slot, options: spec.options });
let last = false;

standardInputEnds().then(() => process.exit(0));
for await (const chunk of stream.pgoutputDecode()) {
  for (const { before, after, ...message } of chunk.messages) {
    // The rows as objects, whose values are decoded when they are asked for; a
    // relation by its number. The time is that of sending.
    write(line({
      ...message,
      before: before && [...before],
      after: after && [...after],
      time: undefined,
      relation: message.relation?.relationOid,
      relations: message.relations?.map((relation) => relation.relationOid),
    }));
    if (message.tag === 'insert' && isLastRow(message.afterRaw.t)) last = true;
    if (last && message.tag === 'commit') write('END');
    stream.ack(message.lsn ?? '0/0');
  }
}
