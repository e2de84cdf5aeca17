import { createHash, createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto';
import { requestContext } from '../context.ts';
import { ApiError } from '../errors.ts';
import { type RandomBytes, randomText } from '../security/base62.ts';
import type { KeyRing } from '../security/keyring.ts';
import { ticketPurpose } from '../security/purposes.ts';

/** What auth gave an operator for one call of another service. */
export const TICKET_HEADER = 'x-guild-ticket';
/** A call of auth, signed with an operator's credential. */
export const OPERATOR_HEADER = 'x-guild-operator';

/** The operator that whoever holds ADMIN_SECRETS acts as. */
export const ROOT = 'root';

const LIFETIME_MS = 30_000;
const SECRET_LENGTH = 43;
const CREDENTIAL = /^operator_([a-z][a-z0-9-]{1,31})_([0-9A-Za-z]{43})$/;
/** What stands before an Ed25519 seed, and before a public key, in DER (RFC 8410). */
const SEED_DER = Buffer.from('302e020100300506032b657004220420', 'hex');
const PUBLIC_DER = Buffer.from('302a300506032b6570032100', 'hex');

/** Which call of which service is meant. */
export interface CalledMethod {
  /** The called service's name. */
  service: string;
  /** The full method path. */
  method: string;
}

/** Reads a header of a call; undefined where there is none. */
export type Headers = (name: string) => string | undefined;

/** Decides which operators may make a call. */
export interface OperatorGuard {
  /** Whether the call looks as if it may be made, judged without its request: false means UNAUTHENTICATED. */
  admits(called: CalledMethod, headers: Headers, now: number): boolean;
  /** The operator's name. Throws an ApiError when the operator may not make this call with this request. */
  authorise(called: CalledMethod, headers: Headers, request: Buffer, now: number): Promise<string>;
}

/** The operator who made the call that is being answered. Throws outside of such a call: nothing has an actor there. */
export function currentOperator(): string {
  const operator = requestContext.getStore()?.operator;
  if (operator === undefined) throw new Error('this is no call of an operator');
  return operator;
}

/** SHA-256 of a request's bytes, in base64url. */
export const digestOf = (request: Uint8Array) => createHash('sha256').update(request).digest('base64url');

interface Signed extends CalledMethod {
  operator: string;
  /** Of the request. */
  digest: string;
  /** Unix milliseconds. */
  at: number;
}

const encode = (signed: Signed) => Buffer.from(JSON.stringify(signed)).toString('base64url');

/** A ticket for one call: base64url JSON, a dot, base64url HMAC under the key that auth shares with the service. */
export function sealTicket(ring: KeyRing, call: CalledMethod & { operator: string; digest: string }, now: number) {
  const payload = encode({ ...call, at: now });
  return `${payload}.${ring.macText(ticketPurpose(call.service), payload)}`;
}

/** What was sealed or signed; undefined where it is damaged, of another method, or not of now. Says nothing of who made it. */
function readSigned(payload: string, called: CalledMethod, now: number): Signed | undefined {
  try {
    const signed = JSON.parse(Buffer.from(payload, 'base64url').toString()) as Signed;
    const isCurrent = Math.abs(now - signed.at) <= LIFETIME_MS;
    return isCurrent && signed.service === called.service && signed.method === called.method ? signed : undefined;
  } catch {
    return undefined;
  }
}

/** Guards the services that operators call through auth: a call needs a ticket for exactly this request. */
export class TicketGuard implements OperatorGuard {
  readonly #ring: KeyRing;

  /** `ring` holds the key `ticket:<service>`, which the service shares with auth. */
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
    const isSealed = this.#ring.verifies(ticketPurpose(called.service), payload, Buffer.from(mac, 'base64url'));
    return isSealed ? readSigned(payload, called, now) : undefined;
  }
}

const NO_TICKET = 'The ticket is not for this request';

/** An operator's credential, as its holder has it. */
export interface Credential {
  operator: string;
  privateKey: KeyObject;
  /** 32 bytes: all that auth knows of it. */
  publicKey: Buffer;
}

/** A new credential: `operator_<name>_<secret>`. */
export function makeCredential(name: string, random: RandomBytes): string {
  return `operator_${name}_${randomText(SECRET_LENGTH, random)}`;
}

/** undefined when the text is no credential. The key pair is derived from the whole text. */
export function readCredential(text: string): Credential | undefined {
  const [, operator] = CREDENTIAL.exec(text) ?? [];
  if (!operator) return undefined;
  const seed = createHash('sha256').update(text).digest();
  const privateKey = createPrivateKey({ key: Buffer.concat([SEED_DER, seed]), format: 'der', type: 'pkcs8' });
  const publicKey = createPublicKey(privateKey).export({ format: 'der', type: 'spki' });
  return { operator, privateKey, publicKey: publicKey.subarray(PUBLIC_DER.length) };
}

/** The header of a call of auth. The credential itself is never sent. */
export function signCall(
  { operator, privateKey }: Credential,
  call: CalledMethod & { digest: string },
  now: number,
): string {
  const payload = encode({ ...call, operator, at: now });
  return `${payload}.${sign(null, Buffer.from(payload), privateKey).toString('base64url')}`;
}

/** Who claims to have signed a call of this method now; undefined where nobody does. `isSigned` checks the claim. */
export function readCall(called: CalledMethod, header: string | undefined, now: number) {
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
