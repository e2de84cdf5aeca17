import { createHash, createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto';
import { requestContext } from '../context.ts';
import { ApiError } from '../errors.ts';
import { type RandomBytes, randomText } from '../security/base62.ts';
import type { KeyRing } from '../security/keyring.ts';
import { ticketPurpose } from '../security/purposes.ts';

/** The gRPC header with the ticket that the auth service issued to an operator for one call of another service. */
export const TICKET_HEADER = 'x-guild-ticket';
/**
 * The gRPC header with which an operator authenticates a call to the auth service; signed with the operator's
 * credential.
 */
export const OPERATOR_HEADER = 'x-guild-operator';

/** The operator name of a person who calls with ADMIN_SECRETS instead of a credential. */
export const ROOT = 'root';

const LIFETIME_MS = 30_000;
const SECRET_LENGTH = 43;
const CREDENTIAL = /^operator_([a-z][a-z0-9-]{1,31})_([0-9A-Za-z]{43})$/;
/** The DER prefixes of an Ed25519 seed and of an Ed25519 public key (RFC 8410). */
const SEED_DER = Buffer.from('302e020100300506032b657004220420', 'hex');
const PUBLIC_DER = Buffer.from('302a300506032b6570032100', 'hex');

/** One gRPC method of one service. */
export interface CalledMethod {
  /** The name of the called service. */
  service: string;
  /** The full path of the gRPC method. */
  method: string;
}

/** Returns the value of a header of a gRPC call; undefined if the header is missing. */
export type Headers = (name: string) => string | undefined;

/** Decides if an operator may make a gRPC call. */
export interface OperatorGuard {
  /** Checks the headers before the request is read; false rejects the call as UNAUTHENTICATED. */
  admits(called: CalledMethod, headers: Headers, now: number): boolean;
  /**
   * Checks an operator's call and returns the operator's name. Throws an ApiError if the operator may not make this
   * call.
   */
  authorise(called: CalledMethod, headers: Headers, request: Buffer, now: number): Promise<string>;
}

/** Returns the name of the operator who made the current gRPC call. Throws outside of an operator's call. */
export function currentOperator(): string {
  const operator = requestContext.getStore()?.operator;
  if (operator === undefined) throw new Error('the current call was not made by an operator');
  return operator;
}

/** Returns the SHA-256 hash of a serialized gRPC request, in base64url. */
export const digestOf = (request: Uint8Array) => createHash('sha256').update(request).digest('base64url');

interface Signed extends CalledMethod {
  operator: string;
  /** The SHA-256 hash of the serialized gRPC request, in base64url. */
  digest: string;
  /** When the ticket or header was signed, in Unix milliseconds. */
  at: number;
}

const encode = (signed: Signed) => Buffer.from(JSON.stringify(signed)).toString('base64url');

/**
 * Creates an operator's ticket for one gRPC call: base64url JSON, a dot, and a base64url HMAC with the key that the
 * auth service and the called service share.
 */
export function createTicket(ring: KeyRing, call: CalledMethod & { operator: string; digest: string }, now: number) {
  const payload = encode({ ...call, at: now });
  return `${payload}.${ring.macText(ticketPurpose(call.service), payload)}`;
}

/**
 * Parses the signed data of a ticket or operator header without verifying the signature; undefined if the data is
 * damaged, expired or for another method.
 */
function readSigned(payload: string, called: CalledMethod, now: number): Signed | undefined {
  try {
    const signed = JSON.parse(Buffer.from(payload, 'base64url').toString()) as Signed;
    const isCurrent = Math.abs(now - signed.at) <= LIFETIME_MS;
    return isCurrent && signed.service === called.service && signed.method === called.method ? signed : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Guards the gRPC methods that operators call, in all services except the auth service: a call needs a ticket that the
 * auth service issued for exactly this request.
 */
export class TicketGuard implements OperatorGuard {
  readonly #ring: KeyRing;

  /** `ring` must hold the key `ticket:<service>`, which the service shares with the auth service. */
  constructor(ring: KeyRing) {
    this.#ring = ring;
  }

  admits(called: CalledMethod, headers: Headers, now: number): boolean {
    return this.#open(called, headers, now) !== undefined;
  }

  async authorise(called: CalledMethod, headers: Headers, request: Buffer, now: number): Promise<string> {
    const ticket = this.#open(called, headers, now);
    if (ticket?.digest !== digestOf(request)) throw new ApiError('MISSING_API_KEY', { message: NO_TICKET });
    return ticket.operator;
  }

  #open(called: CalledMethod, headers: Headers, now: number): Signed | undefined {
    const [payload = '', mac = ''] = (headers(TICKET_HEADER) ?? '').split('.');
    const isSigned = this.#ring.verifies(ticketPurpose(called.service), payload, Buffer.from(mac, 'base64url'));
    return isSigned ? readSigned(payload, called, now) : undefined;
  }
}

const NO_TICKET = 'The ticket is not for this request';

/** An operator's credential with its private key, as only the operator holds it. */
export interface Credential {
  operator: string;
  privateKey: KeyObject;
  /** The public key of 32 bytes, the only part of the credential that the auth service stores. */
  publicKey: Buffer;
}

/** Creates an operator's credential: `operator_<name>_<secret>`. */
export function makeCredential(name: string, random: RandomBytes): string {
  return `operator_${name}_${randomText(SECRET_LENGTH, random)}`;
}

/** Parses an operator's credential; undefined if the text is malformed. The key pair is derived from the whole text. */
export function readCredential(text: string): Credential | undefined {
  const [, operator] = CREDENTIAL.exec(text) ?? [];
  if (!operator) return undefined;
  const seed = createHash('sha256').update(text).digest();
  const privateKey = createPrivateKey({ key: Buffer.concat([SEED_DER, seed]), format: 'der', type: 'pkcs8' });
  const publicKey = createPublicKey(privateKey).export({ format: 'der', type: 'spki' });
  return { operator, privateKey, publicKey: publicKey.subarray(PUBLIC_DER.length) };
}

/**
 * Creates the header that authenticates an operator's call to the auth service. The header is signed with the
 * credential's private key and does not contain the credential.
 */
export function signCall(
  { operator, privateKey }: Credential,
  call: CalledMethod & { digest: string },
  now: number,
): string {
  const payload = encode({ ...call, operator, at: now });
  return `${payload}.${sign(null, Buffer.from(payload), privateKey).toString('base64url')}`;
}

/**
 * Parses the header that authenticates an operator's call to the auth service; undefined if it is missing or expired.
 * The returned function `isSigned` verifies the signature.
 */
export function parseSignedCall(called: CalledMethod, header: string | undefined, now: number) {
  const [payload = '', signature = ''] = (header ?? '').split('.');
  const signed = readSigned(payload, called, now);
  if (!signed || typeof signed.operator !== 'string') return undefined;
  const isSigned = (publicKey: Buffer, request: Buffer) =>
    signed.digest === digestOf(request) &&
    verify(
      null,
      Buffer.from(payload),
      createPublicKey({ key: Buffer.concat([PUBLIC_DER, publicKey]), format: 'der', type: 'spki' }),
      Buffer.from(signature, 'base64url'),
    );
  return { operator: signed.operator, isSigned };
}
