import type { KeyRing } from '../security/keyring.ts';
import { callPurpose } from '../security/purposes.ts';

export const CALL_TOKEN_HEADER = 'x-guild-call';

const LIFETIME_MS = 30_000;

/** The gRPC call that a call token is valid for. */
export interface Call {
  caller: string;
  /** The name of the called service. */
  audience: string;
  /** The full path of the gRPC method, such as `/guild.lookup.v1.LookupService/GetLinks`. */
  method: string;
}

interface SignedCall extends Call {
  /** When the call token was created, in Unix milliseconds. */
  at: number;
}

/**
 * The processes that may call a gRPC service. The called service shares a separate signing key with each of these
 * callers.
 */
export interface AllowedCallers {
  readonly ring: KeyRing;
  readonly names: ReadonlySet<string>;
}

/**
 * Creates a call token, which proves who makes a call to one gRPC method. It is valid for 30 s and consists of
 * base64url JSON, a dot and a base64url HMAC.
 */
export function createCallToken(ring: KeyRing, call: Call, now: number): string {
  const payload = Buffer.from(JSON.stringify({ ...call, at: now })).toString('base64url');
  return `${payload}.${ring.macText(callPurpose(call.caller, call.audience), payload)}`;
}

/**
 * Verifies a call token and returns the caller's name; undefined if the token is not valid for this method now. The
 * signature is verified with the key of the caller that the token names.
 */
export function verifyCallToken(
  { ring, names }: AllowedCallers,
  token: string,
  called: { audience: string; method: string },
  now: number,
): string | undefined {
  const [payload = '', mac = '', ...rest] = token.split('.');
  const content = readPayload(payload);
  if (!content || rest.length > 0 || !names.has(content.caller)) return undefined;
  const purpose = callPurpose(content.caller, called.audience);
  if (!ring.verifies(purpose, payload, Buffer.from(mac, 'base64url'))) return undefined;
  const isCurrent = Math.abs(now - content.at) <= LIFETIME_MS;
  const isForThis = content.method === called.method && content.audience === called.audience;
  return isCurrent && isForThis ? content.caller : undefined;
}

/** Parses the claims of a call token without verifying the signature; undefined if the token is malformed. */
function readPayload(payload: string): SignedCall | undefined {
  try {
    const claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as Partial<SignedCall> | null;
    return typeof claims?.caller === 'string' ? (claims as SignedCall) : undefined;
  } catch {
    return undefined;
  }
}
