import { createHash, createPrivateKey, createPublicKey, type KeyObject, sign } from 'node:crypto';

/** Signs with ECDSA on P-256 and SHA-256, the scheme that every version of cosign verifies. */
export class SigningKey {
  private readonly key: KeyObject;
  /** Tells a verifier which of its keys to use: the checksum of the public key. */
  readonly hint: string;

  /** `pem` is a private key in the format PKCS#8 or SEC1, as OpenSSL writes it. */
  constructor(pem: string, passphrase?: string) {
    this.key = readKey(pem, passphrase);
    if (this.key.asymmetricKeyDetails?.namedCurve !== 'prime256v1') {
      throw new Error('the key of a release must be an ECDSA key on the curve P-256 (prime256v1)');
    }
    const spki = createPublicKey(this.key).export({ type: 'spki', format: 'der' });
    this.hint = createHash('sha256').update(spki).digest('base64');
  }

  /** The signature in base64 of ASN.1, as cosign and OpenSSL read it. */
  sign(content: Buffer): string {
    return sign('sha256', content, this.key).toString('base64');
  }
}

function readKey(key: string, passphrase: string | undefined): KeyObject {
  try {
    return createPrivateKey({ key, ...(passphrase !== undefined && { passphrase }) });
  } catch (cause) {
    throw new Error('the key of the release cannot be read: is it a PEM file, and RELEASE_KEY_PASSPHRASE right?', {
      cause,
    });
  }
}
