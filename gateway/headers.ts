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

/** The key is the gateway's business alone. */
const CREDENTIALS = ['x-api-key', 'authorization', 'cookie'];

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
