import type { Event } from './operations-types.ts';

const DEFAULT_TOLERANCE_SECONDS = 300;

const WRONG_SECRET = 'the secret must be whsec_ and base64';

/** Why a request is not a webhook of this service. */
export type WebhookFault = 'missing header' | 'wrong timestamp' | 'wrong signature' | 'wrong body';

/** The request was not sent by the service, or too long ago. Respond to it with 400 and do not use its body. */
export class WebhookVerificationError extends Error {
  readonly fault: WebhookFault;

  constructor(fault: WebhookFault, message: string) {
    super(message);
    this.fault = fault;
  }

  override get name(): string {
    return 'WebhookVerificationError';
  }
}

/** Request headers, of fetch or of Node. */
export type WebhookHeaders = Headers | Readonly<Record<string, string | readonly string[] | undefined>>;

export interface WebhookRequest {
  headers: WebhookHeaders;
  /** The body as it was received. Parsed and printed JSON has other bytes, so that its signature is wrong. */
  body: string | Uint8Array;
}

export interface VerifyOptions {
  /** How far the timestamp may be from now, in both directions. 300 by default. */
  toleranceSeconds?: number | undefined;
  /** The time in Unix seconds, for tests. */
  now?: number | undefined;
}

/**
 * Verifies a webhook by the Standard Webhooks specification and returns its event. `secret` is the `whsec_…` of the
 * webhook, or several while you replace one. Remember `event.id`: an event may be delivered more than once.
 */
export async function verifyWebhook(
  { headers, body }: WebhookRequest,
  secret: string | readonly string[],
  { toleranceSeconds = DEFAULT_TOLERANCE_SECONDS, now = Date.now() / 1_000 }: VerifyOptions = {},
): Promise<Event> {
  const id = headerOf(headers, 'webhook-id');
  const timestamp = headerOf(headers, 'webhook-timestamp');
  const signatures = readSignatures(headerOf(headers, 'webhook-signature'));
  if (!/^[0-9]{1,12}$/.test(timestamp) || Math.abs(now - Number(timestamp)) > toleranceSeconds) {
    throw new WebhookVerificationError(
      'wrong timestamp',
      'webhook-timestamp is too far from the time of this computer',
    );
  }
  const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : body;
  if (!ArrayBuffer.isView(bytes)) {
    throw new TypeError('body must be the text or the bytes of the request as received, not parsed JSON');
  }
  const signed = concatenate(new TextEncoder().encode(`${id}.${timestamp}.`), bytes);
  const keys = await Promise.all(readSecrets(secret).map(importKey));
  // The comparison in the crypto API takes the same time for every signature.
  const checks = keys.flatMap((key) => signatures.map((each) => crypto.subtle.verify('HMAC', key, each, signed)));
  if (!(await Promise.all(checks)).includes(true)) {
    throw new WebhookVerificationError('wrong signature', 'webhook-signature has no signature with this secret');
  }
  return readEvent(bytes);
}

function readEvent(bytes: Uint8Array): Event {
  try {
    return JSON.parse(new TextDecoder().decode(bytes)) as Event;
  } catch {
    throw new WebhookVerificationError('wrong body', 'the body is not JSON');
  }
}

function headerOf(headers: WebhookHeaders, name: string): string {
  const value = isHeaders(headers) ? headers.get(name) : inRecord(headers, name);
  if (typeof value === 'string' && value !== '') return value;
  throw new WebhookVerificationError('missing header', `the request must have the header ${name} once`);
}

/** Not instanceof: there may be several classes of this name, such as that of the package undici. */
const isHeaders = (headers: WebhookHeaders): headers is Headers => typeof headers['get'] === 'function';

function inRecord(headers: Exclude<WebhookHeaders, Headers>, name: string): unknown {
  return Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1];
}

/** A webhook has two signatures while its secret is being replaced. More of them would only cost time. */
const MAX_SIGNATURES = 10;

function readSignatures(header: string): Uint8Array<ArrayBuffer>[] {
  const texts = header.split(' ').slice(0, MAX_SIGNATURES);
  return texts.flatMap((text) => (text.startsWith('v1,') ? (fromBase64(text.slice(3)) ?? []) : []));
}

/** Without a secret, such as with a variable that is not set, every webhook would count as forged. */
function readSecrets(secret: string | readonly string[] | undefined): readonly string[] {
  const secrets = Array.isArray(secret) ? (secret as readonly string[]) : [secret];
  const isText = (each: unknown): each is string => typeof each === 'string';
  if (secrets.length === 0 || !secrets.every(isText)) throw new TypeError(WRONG_SECRET);
  return secrets;
}

function importKey(secret: string): Promise<CryptoKey> {
  const bytes = fromBase64(secret.replace(/^whsec_/, ''));
  if (!bytes || bytes.length === 0) throw new TypeError(WRONG_SECRET);
  return crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['verify']);
}

/** Undefined if the text is not base64. */
function fromBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}

function concatenate(first: Uint8Array, second: Uint8Array): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(first.length + second.length);
  all.set(first);
  all.set(second, first.length);
  return all;
}
