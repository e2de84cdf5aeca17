import { createHash, createPrivateKey, createPublicKey, type KeyObject, randomBytes, sign } from 'node:crypto';

/** Milliseconds since 1970 of the first moment of chat IDs, which begin with their time. */
const EPOCH_MS = 1_420_070_400_000n;

/** An Ed25519 private key in PKCS #8 is these bytes, and then its seed (RFC 8410, section 7). */
const PKCS8_ED25519 = Buffer.from('302e020100300506032b657004220420', 'hex');

/** The key pair with which the platform signs the interactions that it sends to the application. */
export class Application {
  /** The raw public key in hexadecimal, as the platform shows it to the owner of the application. */
  readonly publicKey: string;
  readonly #privateKey: KeyObject;
  #lastId = 0n;

  /** Equal seeds have equal keys; without a seed the keys are random. */
  constructor(seed: string | Buffer = randomBytes(32)) {
    const key = Buffer.concat([PKCS8_ED25519, createHash('sha256').update(seed).digest()]);
    this.#privateKey = createPrivateKey({ key, format: 'der', type: 'pkcs8' });
    const { x = '' } = createPublicKey(this.#privateKey).export({ format: 'jwk' });
    this.publicKey = Buffer.from(x, 'base64url').toString('hex');
  }

  /** The signature of a request in hexadecimal. */
  sign(timestamp: string, body: string): string {
    return sign(null, Buffer.from(timestamp + body), this.#privateKey).toString('hex');
  }

  /** A new chat ID of the given time, higher than all earlier ones. */
  newId(now: number): string {
    const id = (BigInt(now) - EPOCH_MS) << 22n;
    this.#lastId = id > this.#lastId ? id : this.#lastId + 1n;
    return String(this.#lastId);
  }
}
