import type { KeyRing } from '../security/keyring.ts';
import { callPurpose } from '../security/purposes.ts';

export const CALL_TOKEN_HEADER = 'x-guild-call';

const LIFETIME_MS = 30_000;

/** A gRPC call: its caller, the called service and the method. */
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

/** The callers that are allowed. Each of them shares a key only with the called service. */
export interface AllowedCallers {
  readonly ring: KeyRing;
  readonly names: ReadonlySet<string>;
}

/** Creates a token for one gRPC method, valid for 30 s: base64url JSON, a dot, base64url HMAC. */
export function createCallToken(ring: KeyRing, call: Call, now: number): string {
  const payload = Buffer.from(JSON.stringify({ ...call, at: now })).toString('base64url');
  return `${payload}.${ring.macText(callPurpose(call.caller, call.audience), payload)}`;
}

/**
 * Verifies a token and returns the caller's name, or undefined if the token is not valid for this method now. A token
 * is always verified with the key of the caller that it names.
 */
export function verifyCallToken(
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

/** Parses the claims of a token without verifying them. */
function readPayload(payload: string): SealedCall | undefined {
  try {
    const claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as Partial<SealedCall> | null;
    return typeof claims?.caller === 'string' ? (claims as SealedCall) : undefined;
  } catch {
    return undefined;
  }
}
