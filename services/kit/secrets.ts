import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  type Hmac,
  hkdfSync,
  type KeyObject,
  randomBytes,
  timingSafeEqual,
} from 'node:crypto';

const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/**
 * Up to two secrets, the newest first: the newest makes, all check, so that they can be replaced without a gap.
 * Each purpose has its own key, derived by HKDF.
 */
export class SecretRing {
  readonly #secrets: readonly string[];
  readonly #keys = new Map<string, KeyObject[]>();

  constructor(secrets: readonly string[]) {
    if (secrets.length === 0) throw new Error('a secret is required');
    this.#secrets = secrets;
  }

  /** HMAC-SHA-256 under the newest secret. */
  mac(purpose: string, data: string): Buffer {
    return hmacOf(this.#derive(purpose)[0] as KeyObject, data).digest();
  }

  /** The same in base64url, which takes less time than from a buffer. */
  macText(purpose: string, data: string): string {
    return hmacOf(this.#derive(purpose)[0] as KeyObject, data).digest('base64url');
  }

  /** HMAC-SHA-256 under every secret, the newest first: for looking up what is stored only as its MAC. */
  macs(purpose: string, data: string): Buffer[] {
    return this.#derive(purpose).map((key) => hmacOf(key, data).digest());
  }

  /** Whether the MAC was made under any of the secrets; in constant time. */
  verifies(purpose: string, data: string, mac: Buffer): boolean {
    return this.#derive(purpose).some((key) => {
      const expected = hmacOf(key, data).digest();
      return expected.length === mac.length && timingSafeEqual(expected, mac);
    });
  }

  /** AES-256-GCM under the newest secret: nonce, tag, ciphertext. */
  encrypt(purpose: string, plaintext: string): Buffer {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(CIPHER, this.#derive(purpose)[0] as KeyObject, nonce);
    const ciphertext = Buffer.concat([cipher.update(plaintext, 'utf8'), cipher.final()]);
    return Buffer.concat([nonce, cipher.getAuthTag(), ciphertext]);
  }

  /** The plaintext; throws when no secret opens it. */
  decrypt(purpose: string, sealed: Buffer): string {
    for (const key of this.#derive(purpose)) {
      try {
        const nonce = sealed.subarray(0, NONCE_BYTES);
        const decipher = createDecipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES });
        decipher.setAuthTag(sealed.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
        const plaintext = decipher.update(sealed.subarray(NONCE_BYTES + TAG_BYTES));
        return Buffer.concat([plaintext, decipher.final()]).toString('utf8');
      } catch {
        // Sealed under another secret, or damaged: try the next.
      }
    }
    throw new Error('none of the secrets opens this');
  }

  #derive(purpose: string): KeyObject[] {
    let keys = this.#keys.get(purpose);
    if (!keys) {
      keys = this.#secrets.map((secret) => {
        return createSecretKey(Buffer.from(hkdfSync('sha256', secret, 'guild-data', purpose, 32)));
      });
      this.#keys.set(purpose, keys);
    }
    return keys;
  }
}

function hmacOf(key: KeyObject, data: string): Hmac {
  return createHmac('sha256', key).update(data);
}
