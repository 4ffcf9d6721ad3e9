// What the clients for Node.js share (see t/ClientTest.pm).

import { createRequire } from 'node:module';
import { inspect } from 'node:util';
import { pathToFileURL } from 'node:url';

// NODE_PACKAGES is the directory node_modules: what is not in the tree cannot be
// imported by name.
const packages = createRequire(`${process.env.NODE_PACKAGES}/`);

export const load = (name) => import(pathToFileURL(packages.resolve(name)));
export const spec = JSON.parse(process.argv[2]);
export const socket = `${spec.host}/.s.PGSQL.${spec.port}`;

// All of a value in one line, with what JSON leaves out.
export function line(value) {
  return inspect(value, { depth: 20, maxArrayLength: null, maxStringLength: null, breakLength: Infinity, compact: true });
}

// A text column's value, which comes as bytes in binary.
export function isLastRow(value) {
  return value != null && Buffer.from(value).toString() === spec.end;
}

export function write(...values) {
  process.stdout.write(`${values.join(' ')}\n`);
}

export function standardInputEnds() {
  return new Promise((resolve) => process.stdin.on('end', resolve).resume());
}
