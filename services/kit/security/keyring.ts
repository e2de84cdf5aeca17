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

/** The length of a derived key in bytes. */
export const KEY_BYTES = 32;

/**
 * A key ring: one or two keys for each purpose, such as signing call tokens of one caller. The newest key signs and
 * encrypts; both keys verify and decrypt, so that keys can be rotated without an interruption. A process without the
 * keys of a purpose can neither sign nor read anything for that purpose.
 */
export abstract class KeyRing {
  /** Returns the keys of a purpose, the newest first. Throws if the key ring has none. */
  protected abstract keysFor(purpose: string): readonly KeyObject[];

  /** Returns the HMAC-SHA-256 of `data` with the newest key of the purpose. */
  mac(purpose: string, data: string): Buffer {
    return hmacOf(this.keysFor(purpose)[0] as KeyObject, data).digest();
  }

  /** Returns the HMAC-SHA-256 of `data` with the newest key of the purpose, in base64url. */
  macText(purpose: string, data: string): string {
    return hmacOf(this.keysFor(purpose)[0] as KeyObject, data).digest('base64url');
  }

  /**
   * Returns the HMAC-SHA-256 of `data` with every key of the purpose, the newest first; used to find data that is
   * stored only as its HMAC.
   */
  macs(purpose: string, data: string): Buffer[] {
    return this.keysFor(purpose).map((key) => hmacOf(key, data).digest());
  }

  /** True if an HMAC of `data` was made with any key of the purpose; compared in constant time. */
  verifies(purpose: string, data: string, mac: Buffer): boolean {
    return this.keysFor(purpose).some((key) => {
      const expected = hmacOf(key, data).digest();
      return expected.length === mac.length && timingSafeEqual(expected, mac);
    });
  }

  /** Encrypts a text by AES-256-GCM with the newest key of the purpose. Returns nonce, tag and ciphertext. */
  encrypt(purpose: string, plaintext: string): Buffer {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(CIPHER, this.keysFor(purpose)[0] as KeyObject, nonce);
    const ciphertext = Buffer.concat([cipher.update(plaintext, 'utf8'), cipher.final()]);
    return Buffer.concat([nonce, cipher.getAuthTag(), ciphertext]);
  }

  /** Decrypts the result of `encrypt`. Throws if no key of the purpose decrypts it. */
  decrypt(purpose: string, encrypted: Buffer): string {
    for (const key of this.keysFor(purpose)) {
      try {
        const nonce = encrypted.subarray(0, NONCE_BYTES);
        const decipher = createDecipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES });
        decipher.setAuthTag(encrypted.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
        const plaintext = decipher.update(encrypted.subarray(NONCE_BYTES + TAG_BYTES));
        return Buffer.concat([plaintext, decipher.final()]).toString('utf8');
      } catch {
        // The data was encrypted with another key or is damaged, so the next key is tried.
      }
    }
    throw new Error('none of the keys decrypts this');
  }
}

/**
 * A key ring that derives the keys of all purposes from root secrets by HKDF. Processes that serve requests hold only
 * derived keys, never a root secret.
 */
export class SecretRing extends KeyRing {
  readonly #secrets: readonly string[];
  readonly #keys = new Map<string, KeyObject[]>();

  constructor(secrets: readonly string[]) {
    super();
    if (secrets.length === 0) throw new Error('a secret is required');
    this.#secrets = secrets;
  }

  /** Derives the keys of a purpose as bytes, one from each root secret, in the order of the secrets. */
  derive(purpose: string): Buffer[] {
    return this.#secrets.map((secret) => Buffer.from(hkdfSync('sha256', secret, 'guild-data', purpose, KEY_BYTES)));
  }

  protected keysFor(purpose: string): readonly KeyObject[] {
    let keys = this.#keys.get(purpose);
    if (!keys) {
      keys = this.derive(purpose).map((key) => createSecretKey(key));
      this.#keys.set(purpose, keys);
    }
    return keys;
  }
}

/** The derived keys of each purpose, the newest first. */
export type KeysByPurpose = ReadonlyMap<string, readonly Buffer[]>;

/** A key ring with the derived keys of one process. */
export class ProcessKeys extends KeyRing {
  readonly #keys: ReadonlyMap<string, readonly KeyObject[]>;

  constructor(keys: KeysByPurpose) {
    super();
    this.#keys = new Map([...keys].map(([purpose, all]) => [purpose, all.map((key) => createSecretKey(key))]));
  }

  get purposes(): string[] {
    return [...this.#keys.keys()];
  }

  protected keysFor(purpose: string): readonly KeyObject[] {
    const keys = this.#keys.get(purpose);
    if (!keys) throw new Error(`this process has no key for ${purpose}`);
    return keys;
  }
}

function hmacOf(key: KeyObject, data: string): Hmac {
  return createHmac('sha256', key).update(data);
}
