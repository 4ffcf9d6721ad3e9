// pg-logical-replication: what its events hand on (see t/ClientTest.pm).

import { isLastRow, line, load, spec, standardInputEnds, write } from './common.mjs';

const { LogicalReplicationService, PgoutputPlugin } = (await load('pg-logical-replication')).default;

// The package has places for three options; others take a subclass.
class OptionsPlugin extends PgoutputPlugin {
  start(client, slot, lsn) {
    const options = Object.entries(spec.options).map(([name, value]) => `"${name}" '${value}'`);
    return client.query(`START_REPLICATION SLOT "${slot}" LOGICAL ${lsn} (${options.join(', ')})`);
  }
}

const { proto_version, publication_names, messages, ...others } = spec.options;
const plugin = Object.keys(others).length > 0
  ? new OptionsPlugin({ protoVersion: 1, publicationNames: [] })
  : new PgoutputPlugin({
      protoVersion: proto_version,
      publicationNames: publication_names.split(','),
      messages: messages === 'true',
    });
const service = new LogicalReplicationService(
  { host: spec.host, port: spec.port, user: spec.user, database: spec.dbname },
  { acknowledge: { auto: true, timeoutSeconds: 0 } });
let last = false;

service.on('error', (error) => {
  console.error(error);
  process.exitCode = 1;
});
service.on('data', (lsn, message) => {
  // A relation by its number: what it is has come as a message of its own.
  write(lsn, line({
    ...message,
    relation: message.relation?.relationOid,
    relations: message.relations?.map((relation) => relation.relationOid),
  }));
  if (message.tag === 'insert' && isLastRow(message.new.t)) last = true;
  if (last && message.tag === 'commit') write('END');
});
service.subscribe(plugin, spec.slot).catch((error) => {
  console.error(error);
  process.exit(1);
});
await standardInputEnds();
await service.stop();
