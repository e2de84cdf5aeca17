import type { SecretRing } from './secrets.ts';

export const CALL_TOKEN_HEADER = 'x-guild-call';

const LIFETIME_MS = 30_000;

/** Who calls which gRPC method of whom. */
export interface Call {
  caller: string;
  /** The called service's name. */
  audience: string;
  /** The full method path. */
  method: string;
}

const purposeOf = (audience: string) => `call:${audience}`;

/** A token for one gRPC method, good for 30 s: base64url JSON, a dot, base64url HMAC. */
export function sealCall(ring: SecretRing, call: Call, now: number): string {
  const payload = Buffer.from(JSON.stringify({ ...call, at: now })).toString('base64url');
  return `${payload}.${ring.macText(purposeOf(call.audience), payload)}`;
}

/** The caller's name; undefined when the token is not good for this method now. */
export function openCall(
  ring: SecretRing,
  token: string,
  called: { audience: string; method: string },
  now: number,
): string | undefined {
  const [payload = '', mac = ''] = token.split('.');
  if (!ring.verifies(purposeOf(called.audience), payload, Buffer.from(mac, 'base64url'))) return undefined;
  const sealed = JSON.parse(Buffer.from(payload, 'base64url').toString()) as Call & { at: number };
  const current = Math.abs(now - sealed.at) <= LIFETIME_MS;
  return current && sealed.method === called.method && sealed.audience === called.audience ? sealed.caller : undefined;
}
