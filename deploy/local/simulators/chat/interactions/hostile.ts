import { Application } from './application.ts';
import type { SignedRequest } from './store.ts';

const SIGNATURE = 'x-signature-ed25519';
const TIMESTAMP = 'x-signature-timestamp';

/** How a signed request is spoilt before it is sent. Each has to be rejected with 401. */
export const HOSTILE_VARIANTS = [
  'wrong_key',
  'changed_body',
  'changed_timestamp',
  'unbound_timestamp',
  'missing_headers',
  'missing_signature',
  'missing_timestamp',
  'empty_signature',
  'truncated_signature',
  'long_signature',
  'not_hexadecimal',
  'zero_signature',
] as const;
export type HostileVariant = (typeof HOSTILE_VARIANTS)[number];

type Spoil = (request: SignedRequest, application: Application) => SignedRequest;

/** Replaces headers; undefined removes one. */
function withHeaders(request: SignedRequest, changes: Record<string, string | undefined>): SignedRequest {
  const all = Object.entries({ ...request.headers, ...changes });
  return {
    ...request,
    headers: Object.fromEntries(all.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]))),
  };
}

const timestampOf = ({ headers }: SignedRequest) => headers[TIMESTAMP] ?? '';
const signatureOf = ({ headers }: SignedRequest) => headers[SIGNATURE] ?? '';
const signed = (request: SignedRequest, signature: string | undefined) =>
  withHeaders(request, { [SIGNATURE]: signature });

const variants: Record<HostileVariant, Spoil> = {
  wrong_key: (request) => signed(request, new Application().sign(timestampOf(request), request.body)),
  changed_body: (request) => ({ ...request, body: `${request.body} ` }),
  changed_timestamp: (request) => withHeaders(request, { [TIMESTAMP]: String(Number(timestampOf(request)) + 1) }),
  // Signs the body alone, so that the timestamp could be replaced.
  unbound_timestamp: (request, application) => signed(request, application.sign('', request.body)),
  missing_headers: (request) => withHeaders(request, { [SIGNATURE]: undefined, [TIMESTAMP]: undefined }),
  missing_signature: (request) => signed(request, undefined),
  missing_timestamp: (request) => withHeaders(request, { [TIMESTAMP]: undefined }),
  empty_signature: (request) => signed(request, ''),
  truncated_signature: (request) => signed(request, signatureOf(request).slice(0, -2)),
  long_signature: (request) => signed(request, `${signatureOf(request)}00`),
  not_hexadecimal: (request) => signed(request, signatureOf(request).replace(/^../, 'zz')),
  zero_signature: (request) => signed(request, '0'.repeat(128)),
};

/** The request with a fault that only its verification can find. */
export function spoil(request: SignedRequest, application: Application, variant: HostileVariant): SignedRequest {
  return variants[variant](request, application);
}

/** A request as the platform sends it: signed together with its time. */
export function signRequest(application: Application, url: string, timestamp: string, body: string): SignedRequest {
  const headers = {
    'content-type': 'application/json',
    'user-agent': 'Discord-Interactions/1.0 (+https://discord.com)',
    [TIMESTAMP]: timestamp,
    [SIGNATURE]: application.sign(timestamp, body),
  };
  return { url, headers, body };
}
