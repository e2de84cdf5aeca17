import { wire } from '../../network/raw-http.ts';
import { COSTLY } from './costly.ts';
import { PASSING } from './passing.ts';
import { REJECTED } from './rejected.ts';
import { type Entry, request, V } from './requests.ts';

/** Bytes that careless or hostile clients send on a connection. */
export const CORPUS: readonly Entry[] = [
  { name: 'whoami', bytes: request(`GET /api/v1/whoami ${V}`), outcome: 'answered here' },
  { name: 'several spaces', bytes: request(`GET  /api/v1/whoami   ${V}`), outcome: 'answered here' },
  { name: 'healthz', bytes: () => wire(`GET /healthz ${V}\nHost: x\n\n`), outcome: 'answered here' },
  ...PASSING.map(([name, bytes]) => ({ name, bytes, outcome: 'passes' })),
  ...COSTLY.map(([name, outcome, bytes]) => ({ name, bytes, outcome })),
  ...REJECTED.map(([name, outcome, bytes]) => ({ name, bytes, outcome })),
];

/** The bytes of an entry of the corpus, by name. */
export function entry(name: string): Entry['bytes'] {
  const found = CORPUS.find((one) => one.name === name);
  if (!found) throw new Error(`the corpus has no ${name}`);
  return found.bytes;
}

/** Several entries on one connection, one after the other. */
export function together(...names: string[]): Entry['bytes'] {
  return (caller) => names.map((name) => entry(name)(caller)).join('');
}

/** Header lines that make a request invalid. */
export const SPOILERS: readonly string[] = [
  'Transfer-Encoding: chunked',
  'Transfer-Encoding: identity',
  'Transfer-Encoding:\tchunked',
  'Transfer-Encoding: chunked, chunked',
  'Content-Length: 0',
  'Content-Length: 5',
  'Content-Length: 5, 5',
  'Content-Length : 5',
  'content_length: 5',
  'Connection: close',
  'Connection: keep-alive',
  'Connection: Upgrade',
  'Connection: x-api-key',
  'Connection: host',
  'Upgrade: h2c',
  'Expect: 100-continue',
  'Expect: 200-ok',
  'Host: other',
  'X-Guild-Principal: e30.AAAA',
  'x-guild-principal : e30.AAAA',
  'X-Internal-Secret: 1',
  'X-Request-Id: caller.1',
  'X-Request-Id: a b',
  'X-Forwarded-For: 10.0.0.1',
  'Forwarded: for=_x',
  'Trailer: X-Guild-Principal',
  'Cookie: a=b',
  'Authorization: Bearer x',
  'X-Guild-ID: 900000000000000009',
  ' folded',
  '\tfolded',
  ': no name',
  'no colon',
  'X-Null: a\0b',
  '',
];
