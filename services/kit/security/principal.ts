import type { GuildRole } from '#proto/console/roles.ts';
import { ApiError } from '../errors.ts';
import type { KeyRing } from './keyring.ts';
import { principalPurpose } from './purposes.ts';

export const PRINCIPAL_HEADER = 'x-guild-principal';

const VERSION = 1;
const LIFETIME_MS = 30_000;
const LEEWAY_MS = 5_000;

/** A person who is signed in to the console. */
export interface ConsolePerson {
  /** A chat ID, `oidc:<subject>`, or `link:<id>`. */
  id: string;
  /** The role in the guild of the request. */
  role: GuildRole;
}

/** The keyId and keyPrefix of the principal of a person; records that name who made them then do not name the person. */
export const CONSOLE_KEY = 'console';

/**
 * The authenticated client of a request, in a header that the gateway signs for API keys, and auth for persons in the
 * console.
 */
export interface Principal {
  /** CONSOLE_KEY for a person. */
  keyId: string;
  /** The public start of the API key, as lists of keys and events show it; CONSOLE_KEY for a person. */
  keyPrefix: string;
  /** Set if a person in the console makes the request, instead of an API key. */
  person?: ConsolePerson;
  guildId: string;
  /** The scopes of the API key; null for a legacy key, which has every scope. */
  scopes: readonly string[] | null;
  legacy: boolean;
  requestId: string;
  /** The address of the client, for the audit of changes; missing in requests that only read. */
  address?: string | undefined;
}

/** The one request to one service that a signed principal is valid for. */
export interface SignedRequest {
  /** The name of the service that receives the request. */
  audience: string;
  method: string;
  /** The HTTP request target as sent, including the query. */
  target: string;
}

/** The JSON in the principal header: a principal with its format version, issue time and expiry time. */
interface SignedPrincipal extends Principal {
  version: number;
  issuedAt: number;
  expiresAt: number;
}

const signed = (payload: string, request: SignedRequest) => `${payload}\n${request.method}\n${request.target}`;

/**
 * Returns the value of the principal header: base64url JSON, a dot, and a base64url HMAC of the JSON, the method and
 * the target.
 */
export function signPrincipal(ring: KeyRing, principal: Principal, request: SignedRequest, now: number): string {
  const { keyId, keyPrefix, person, guildId, scopes, legacy, requestId, address } = principal;
  const times = { version: VERSION, issuedAt: now, expiresAt: now + LIFETIME_MS };
  // JSON leaves out fields that are undefined.
  const content = { keyId, keyPrefix, person, guildId, scopes, legacy, requestId, address, ...times };
  const payload = Buffer.from(JSON.stringify(content)).toString('base64url');
  return `${payload}.${ring.macText(principalPurpose(request.audience), signed(payload, request))}`;
}

/**
 * Verifies the principal header of a request. Throws MISSING_API_KEY if the header is missing, expired or not signed
 * for this request.
 */
export function verifyPrincipal(
  ring: KeyRing,
  header: string | undefined,
  request: SignedRequest,
  now: number,
): Principal {
  const [payload, mac, ...rest] = (header ?? '').split('.');
  if (!payload || !mac || rest.length > 0) throw new ApiError('MISSING_API_KEY');
  if (!ring.verifies(principalPurpose(request.audience), signed(payload, request), Buffer.from(mac, 'base64url'))) {
    throw new ApiError('MISSING_API_KEY');
  }
  const content = JSON.parse(Buffer.from(payload, 'base64url').toString()) as SignedPrincipal;
  const isCurrent = content.issuedAt <= now + LEEWAY_MS && now <= content.expiresAt + LEEWAY_MS;
  if (content.version !== VERSION || !isCurrent) throw new ApiError('MISSING_API_KEY');
  const { version: _version, issuedAt: _issuedAt, expiresAt: _expiresAt, ...principal } = content;
  return principal;
}
