import { createHmac } from 'node:crypto';

const PREFIX = 'whsec_';
const SECRET_BYTES = 32;

/** Returns a new secret in the form of Standard Webhooks: `whsec_` and the base64 of 32 random bytes. */
export function newSecret(randomBytes: (size: number) => Buffer): string {
  return PREFIX + randomBytes(SECRET_BYTES).toString('base64');
}

/**
 * Returns the headers of Standard Webhooks for a body: `webhook-id`, `webhook-timestamp`, and `webhook-signature` with
 * one signature for each secret, separated by spaces. Throws if a secret has another form than `newSecret` returns.
 */
export function signatureHeaders(
  secrets: readonly string[],
  id: string,
  timestampSeconds: number,
  body: string,
): Record<string, string> {
  const content = `${id}.${timestampSeconds}.${body}`;
  const signatures = secrets.map(
    (secret) => `v1,${createHmac('sha256', keyOf(secret)).update(content).digest('base64')}`,
  );
  return {
    'webhook-id': id,
    'webhook-timestamp': String(timestampSeconds),
    'webhook-signature': signatures.join(' '),
  };
}

function keyOf(secret: string): Buffer {
  const key = Buffer.from(secret.slice(PREFIX.length), 'base64');
  if (!secret.startsWith(PREFIX) || key.length !== SECRET_BYTES) throw new Error('malformed webhook secret');
  return key;
}
