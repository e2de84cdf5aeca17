import type { KeyRing } from '../security/keyring.ts';
import { callPurpose } from '../security/purposes.ts';

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

interface SealedCall extends Call {
  /** Unix milliseconds. */
  at: number;
}

/** Who may call: these names, each with the key that it shares with the called service alone. */
export interface AllowedCallers {
  readonly ring: KeyRing;
  readonly names: ReadonlySet<string>;
}

/** A token for one gRPC method, good for 30 s: base64url JSON, a dot, base64url HMAC. */
export function sealCall(ring: KeyRing, call: Call, now: number): string {
  const payload = Buffer.from(JSON.stringify({ ...call, at: now })).toString('base64url');
  return `${payload}.${ring.macText(callPurpose(call.caller, call.audience), payload)}`;
}

/**
 * The caller's name; undefined when the token is not valid for this method now. The name is bound to the key: a token
 * that names a caller is verified with the key of that caller and no other.
 */
export function openCall(
  { ring, names }: AllowedCallers,
  token: string,
  called: { audience: string; method: string },
  now: number,
): string | undefined {
  const [payload = '', mac = '', ...rest] = token.split('.');
  const sealed = readPayload(payload);
  if (!sealed || rest.length > 0 || !names.has(sealed.caller)) return undefined;
  const purpose = callPurpose(sealed.caller, called.audience);
  if (!ring.verifies(purpose, payload, Buffer.from(mac, 'base64url'))) return undefined;
  const isCurrent = Math.abs(now - sealed.at) <= LIFETIME_MS;
  const isForThis = sealed.method === called.method && sealed.audience === called.audience;
  return isCurrent && isForThis ? sealed.caller : undefined;
}

/** What a token claims, which nothing has verified yet. */
function readPayload(payload: string): SealedCall | undefined {
  try {
    const claimed = JSON.parse(Buffer.from(payload, 'base64url').toString()) as Partial<SealedCall> | null;
    return typeof claimed?.caller === 'string' ? (claimed as SealedCall) : undefined;
  } catch {
    return undefined;
  }
}
