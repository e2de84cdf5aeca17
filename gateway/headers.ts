import type { IncomingHttpHeaders } from 'node:http';

/** Meant for one connection, not for the service behind it. Transfer-Encoding frames the body and stays. */
const HOP_BY_HOP = [
  'connection',
  'proxy-connection',
  'keep-alive',
  'te',
  'trailer',
  'upgrade',
  'proxy-authenticate',
  'proxy-authorization',
];

/** The gateway's business alone: the key, and whether a caller may send its body. */
const CREDENTIALS = ['x-api-key', 'authorization', 'cookie', 'expect'];

/** Headers that have one value: of two, Node keeps the first without a word, and another server the second. */
export const SINGLE: ReadonlySet<string> = new Set([
  'age',
  'authorization',
  'content-length',
  'content-type',
  'etag',
  'expires',
  'from',
  'host',
  'if-modified-since',
  'if-unmodified-since',
  'last-modified',
  'location',
  'max-forwards',
  'proxy-authorization',
  'referer',
  'retry-after',
  'server',
  'user-agent',
]);

/** What `Connection` names, in lower case. */
export function connectionOptions(headers: IncomingHttpHeaders): string[] {
  return (headers.connection ?? '')
    .toLowerCase()
    .split(',')
    .map((name) => name.trim())
    .filter(Boolean);
}

/** Takes away all that a caller could forge or that is not meant for a service; called before anything is read. */
export function stripReserved(headers: IncomingHttpHeaders): void {
  for (const name of [...HOP_BY_HOP, ...connectionOptions(headers)]) delete headers[name];
  for (const name of Object.keys(headers)) {
    if (isReserved(name)) delete headers[name];
  }
}

/** Takes away what no service is told; called right before a request is passed on. */
export function stripCredentials(headers: IncomingHttpHeaders): void {
  for (const name of CREDENTIALS) delete headers[name];
  for (const name of Object.keys(headers)) {
    if (name === 'forwarded' || name.startsWith('x-forwarded-')) delete headers[name];
  }
}

function isReserved(name: string): boolean {
  if (name.startsWith('x-internal-')) return true;
  return name.startsWith('x-guild-') && name !== 'x-guild-id';
}
