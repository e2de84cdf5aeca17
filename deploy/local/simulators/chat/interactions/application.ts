import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';

/** Milliseconds since 1970 of the first moment of chat IDs, which begin with their time. */
const EPOCH_MS = 1_420_070_400_000n;

/** The key pair with which the platform signs the interactions that it sends to the application. */
export class Application {
  /** The raw public key in hexadecimal, as the platform shows it to the owner of the application. */
  readonly publicKey: string;
  readonly #privateKey: KeyObject;
  #lastId = 0n;

  constructor() {
    const { publicKey, privateKey } = generateKeyPairSync('ed25519');
    this.publicKey = Buffer.from(publicKey.export({ format: 'jwk' }).x ?? '', 'base64url').toString('hex');
    this.#privateKey = privateKey;
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
