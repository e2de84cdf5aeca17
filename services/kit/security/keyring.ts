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

/** The length of a derived key, in bytes. */
export const KEY_BYTES = 32;

/**
 * One or two keys for each purpose, the newest first: the newest signs and encrypts, both verify and decrypt, so that
 * keys are replaced without a gap. What a ring has no key for, its holder can neither make nor read.
 */
export abstract class KeyRing {
  /** The keys of a purpose, the newest first; throws when the ring has none. */
  protected abstract keysFor(purpose: string): readonly KeyObject[];

  /** HMAC-SHA-256 under the newest key. */
  mac(purpose: string, data: string): Buffer {
    return hmacOf(this.keysFor(purpose)[0] as KeyObject, data).digest();
  }

  /** The same in base64url, which takes less time than from a buffer. */
  macText(purpose: string, data: string): string {
    return hmacOf(this.keysFor(purpose)[0] as KeyObject, data).digest('base64url');
  }

  /** HMAC-SHA-256 under every key, the newest first: for looking up what is stored only as its MAC. */
  macs(purpose: string, data: string): Buffer[] {
    return this.keysFor(purpose).map((key) => hmacOf(key, data).digest());
  }

  /** Whether the MAC was made under any of the keys; in constant time. */
  verifies(purpose: string, data: string, mac: Buffer): boolean {
    return this.keysFor(purpose).some((key) => {
      const expected = hmacOf(key, data).digest();
      return expected.length === mac.length && timingSafeEqual(expected, mac);
    });
  }

  /** AES-256-GCM under the newest key: nonce, tag, ciphertext. */
  encrypt(purpose: string, plaintext: string): Buffer {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(CIPHER, this.keysFor(purpose)[0] as KeyObject, nonce);
    const ciphertext = Buffer.concat([cipher.update(plaintext, 'utf8'), cipher.final()]);
    return Buffer.concat([nonce, cipher.getAuthTag(), ciphertext]);
  }

  /** The plaintext; throws when no key opens it. */
  decrypt(purpose: string, sealed: Buffer): string {
    for (const key of this.keysFor(purpose)) {
      try {
        const nonce = sealed.subarray(0, NONCE_BYTES);
        const decipher = createDecipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES });
        decipher.setAuthTag(sealed.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
        const plaintext = decipher.update(sealed.subarray(NONCE_BYTES + TAG_BYTES));
        return Buffer.concat([plaintext, decipher.final()]).toString('utf8');
      } catch {
        // Sealed under another key, or damaged: try the next.
      }
    }
    throw new Error('none of the keys opens this');
  }
}

/** Derives the key of every purpose from root secrets by HKDF. No process that serves requests holds one. */
export class SecretRing extends KeyRing {
  readonly #secrets: readonly string[];
  readonly #keys = new Map<string, KeyObject[]>();

  constructor(secrets: readonly string[]) {
    super();
    if (secrets.length === 0) throw new Error('a secret is required');
    this.#secrets = secrets;
  }

  /** The keys of a purpose as bytes, one for each root secret in their order. */
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

/** Derived keys by purpose, each the newest first. */
export type KeysByPurpose = ReadonlyMap<string, readonly Buffer[]>;

/** The derived keys that one process was given. */
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
