import { ApiError } from '../errors.ts';
import type { KeyRing } from './keyring.ts';
import { principalPurpose } from './purposes.ts';

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

const signed = (payload: string, request: SealedFor) => `${payload}\n${request.method}\n${request.target}`;

/** The header's value: base64url JSON, a dot, base64url HMAC over it, the method and the target. */
export function sealPrincipal(ring: KeyRing, principal: Principal, request: SealedFor, now: number): string {
  const payload = beginningOf(principal.scopes) + base64(restOf(principal, now));
  return `${payload}.${ring.macText(principalPurpose(request.audience), signed(payload, request))}`;
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64url');
}

/** By the lists of scopes of the keys that are remembered, which share them, and never change one. */
const beginnings = new WeakMap<readonly string[], string>();
const LEGACY_BEGINNING = makeBeginning(null);

/** What a SealedPrincipal begins with, in base64url: most of it, and the same for many. */
function beginningOf(scopes: readonly string[] | null): string {
  if (scopes === null) return LEGACY_BEGINNING;
  const known = beginnings.get(scopes);
  if (known !== undefined) return known;
  const beginning = makeBeginning(scopes);
  beginnings.set(scopes, beginning);
  return beginning;
}

function makeBeginning(scopes: readonly string[] | null): string {
  const json = `{"version":${VERSION},"scopes":${JSON.stringify(scopes)},`;
  // Three bytes at a time are base64, which so can go on behind it; JSON may hold blanks.
  return base64(json + ' '.repeat((3 - (Buffer.byteLength(json) % 3)) % 3));
}

/** The rest of it, as JSON. */
function restOf({ keyId, guildId, legacy, requestId }: Principal, now: number): string {
  const who = `"keyId":${JSON.stringify(keyId)},"guildId":${JSON.stringify(guildId)},"legacy":${legacy}`;
  return `${who},"requestId":${JSON.stringify(requestId)},"issuedAt":${now},"expiresAt":${now + LIFETIME_MS}}`;
}

/** The principal of a request; MISSING_API_KEY when there is none, or it was not sealed for this request. */
export function openPrincipal(ring: KeyRing, header: string | undefined, request: SealedFor, now: number): Principal {
  const [payload, mac, ...rest] = (header ?? '').split('.');
  if (!payload || !mac || rest.length > 0) throw new ApiError('MISSING_API_KEY');
  if (!ring.verifies(principalPurpose(request.audience), signed(payload, request), Buffer.from(mac, 'base64url'))) {
    throw new ApiError('MISSING_API_KEY');
  }
  const sealed = JSON.parse(Buffer.from(payload, 'base64url').toString()) as SealedPrincipal;
  const current = sealed.issuedAt <= now + LEEWAY_MS && now <= sealed.expiresAt + LEEWAY_MS;
  if (sealed.version !== VERSION || !current) throw new ApiError('MISSING_API_KEY');
  const { keyId, guildId, scopes, legacy, requestId } = sealed;
  return { keyId, guildId, scopes, legacy, requestId };
}
