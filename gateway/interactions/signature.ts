import { createPublicKey, type KeyObject, verify } from 'node:crypto';

/** Lower case only, as the platform sends it, so that a signature has one form. */
const SIGNATURE = /^[0-9a-f]{128}$/;
/** Unix seconds. Digits only, so that no byte of the body can be taken for a part of the timestamp, or the reverse. */
const TIMESTAMP = /^[1-9][0-9]{0,11}$/;
/** The maximum difference between the time of a signature and our clock. */
const MAX_AGE_MS = 5 * 60_000;

/** The headers with which the chat platform signs a request. */
export interface SignatureHeaders {
  signature: string | undefined;
  timestamp: string | undefined;
}

/** Why a request is not accepted as one of the chat platform. */
export type SignatureFault = 'missing_signature' | 'old_timestamp' | 'bad_signature';

/** Verifies the Ed25519 signatures of the chat platform over the timestamp and the body of a request. */
export class SignatureCheck {
  readonly #key: KeyObject;

  /** `publicKey` is the application's public key in hexadecimal digits, as the platform shows it. */
  constructor(publicKey: string) {
    const x = Buffer.from(publicKey, 'hex').toString('base64url');
    this.#key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
  }

  /** Checks what can be checked before the body has arrived. Returns undefined if there is no fault. */
  headerFault({ signature, timestamp }: SignatureHeaders, now: number): SignatureFault | undefined {
    if (signature === undefined || timestamp === undefined) return 'missing_signature';
    if (!SIGNATURE.test(signature) || !TIMESTAMP.test(timestamp)) return 'bad_signature';
    return Math.abs(Number(timestamp) * 1000 - now) <= MAX_AGE_MS ? undefined : 'old_timestamp';
  }

  /** True if the platform has signed exactly this timestamp and body. `headerFault` must have found no fault. */
  verifies({ signature = '', timestamp = '' }: SignatureHeaders, body: Buffer): boolean {
    const signed = Buffer.concat([Buffer.from(timestamp), body]);
    return verify(null, signed, this.#key, Buffer.from(signature, 'hex'));
  }
}
