import { ApiError } from './errors.ts';
import type { SecretRing } from './secrets.ts';

export const PRINCIPAL_HEADER = 'x-guild-principal';

const VERSION = 1;
const LIFETIME_MS = 30_000;
const LEEWAY_MS = 5_000;

/** Who calls, as the gateway found out. */
export interface Principal {
  keyId: string;
  guildId: string;
  /** null for a legacy key, which reaches everything. */
  scopes: readonly string[] | null;
  legacy: boolean;
  requestId: string;
}

/** What a seal is good for: this one request to this one service. */
export interface SealedFor {
  /** The service's name. */
  audience: string;
  method: string;
  /** The request target as sent, query included. */
  target: string;
}

/** What is sealed: a principal as JSON, with these. */
interface SealedPrincipal extends Principal {
  version: number;
  issuedAt: number;
  expiresAt: number;
}

const purposeOf = (audience: string) => `principal:${audience}`;
const signed = (payload: string, request: SealedFor) => `${payload}\n${request.method}\n${request.target}`;

/** The header's value: base64url JSON, a dot, base64url HMAC over it, the method and the target. */
export function sealPrincipal(ring: SecretRing, principal: Principal, request: SealedFor, now: number): string {
  const payload = Buffer.from(sealedText(principal, now)).toString('base64url');
  return `${payload}.${ring.macText(purposeOf(request.audience), signed(payload, request))}`;
}

/** A SealedPrincipal as JSON. Its parts are put together here since most of it, the scopes, is the same for many. */
function sealedText({ keyId, guildId, scopes, legacy, requestId }: Principal, now: number): string {
  const who = `"keyId":${JSON.stringify(keyId)},"guildId":${JSON.stringify(guildId)},"requestId":${JSON.stringify(requestId)}`;
  const when = `"issuedAt":${now},"expiresAt":${now + LIFETIME_MS}`;
  return `{"version":${VERSION},${who},${when},"legacy":${legacy},"scopes":${scopesText(scopes)}}`;
}

/** By the lists of scopes of the keys that are remembered, which share them, and never change one. */
const scopesTexts = new WeakMap<readonly string[], string>();

function scopesText(scopes: readonly string[] | null): string {
  if (scopes === null) return 'null';
  const known = scopesTexts.get(scopes);
  if (known !== undefined) return known;
  const text = JSON.stringify(scopes);
  scopesTexts.set(scopes, text);
  return text;
}

/** The principal of a request; MISSING_API_KEY when there is none, or it was not sealed for this request. */
export function openPrincipal(
  ring: SecretRing,
  header: string | undefined,
  request: SealedFor,
  now: number,
): Principal {
  const [payload, mac, ...rest] = (header ?? '').split('.');
  if (!payload || !mac || rest.length > 0) throw new ApiError('MISSING_API_KEY');
  if (!ring.verifies(purposeOf(request.audience), signed(payload, request), Buffer.from(mac, 'base64url'))) {
    throw new ApiError('MISSING_API_KEY');
  }
  const sealed = JSON.parse(Buffer.from(payload, 'base64url').toString()) as SealedPrincipal;
  const current = sealed.issuedAt <= now + LEEWAY_MS && now <= sealed.expiresAt + LEEWAY_MS;
  if (sealed.version !== VERSION || !current) throw new ApiError('MISSING_API_KEY');
  const { keyId, guildId, scopes, legacy, requestId } = sealed;
  return { keyId, guildId, scopes, legacy, requestId };
}
