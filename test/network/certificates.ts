import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { join } from 'node:path';

/** A certificate with its key, PEM. */
export interface Certificate {
  cert: string;
  key: string;
}

export interface CertificateOptions {
  /** The names and IPv4 addresses that it is valid for; those of this machine by default. */
  names?: string[];
  /** Unix milliseconds; an hour ago and in a day by default. */
  from?: number;
  until?: number;
  /** True for a key that is too short for TLS. */
  isWeak?: boolean;
}

const HOUR_MS = 3_600_000;

const OIDS = {
  commonName: '550403',
  ecdsaWithSha256: '2a8648ce3d040302',
  basicConstraints: '551d13',
  subjectAltName: '551d11',
};

/** One DER value: a tag, the length and the content. */
function der(tag: number, ...parts: Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}

const sequence = (...parts: Buffer[]) => der(0x30, ...parts);
const oid = (hex: string) => der(0x06, Buffer.from(hex, 'hex'));
const ALGORITHM = sequence(oid(OIDS.ecdsaWithSha256));
const nameOf = (text: string) => sequence(der(0x31, sequence(oid(OIDS.commonName), der(0x0c, Buffer.from(text)))));
const time = (at: number) =>
  der(
    0x17,
    Buffer.from(
      new Date(at)
        .toISOString()
        .replaceAll(/[-:T]|\.\d+/g, '')
        .slice(2),
    ),
  );
const pem = (label: string, bytes: Buffer) =>
  `-----BEGIN ${label}-----\n${bytes.toString('base64').replaceAll(/.{64}/g, '$&\n')}\n-----END ${label}-----\n`;

function alternativeName(text: string): Buffer {
  return isIP(text) === 4 ? der(0x87, Buffer.from(text.split('.').map(Number))) : der(0x82, Buffer.from(text));
}

/** A certificate authority. */
export class Authority {
  readonly cert: string;
  readonly #key: KeyObject;
  readonly #name: string;
  #serial = 1;

  constructor(name: string) {
    const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    this.#name = name;
    this.#key = privateKey;
    const isAuthority = sequence(
      oid(OIDS.basicConstraints),
      der(0x01, Buffer.from([255])),
      der(0x04, sequence(der(0x01, Buffer.from([255])))),
    );
    this.cert = this.#sign(name, publicKey, isAuthority, {});
  }

  /** Issues a certificate for clients and servers. */
  issue(options: CertificateOptions = {}): Certificate {
    const { publicKey, privateKey } = options.isWeak
      ? generateKeyPairSync('rsa', { modulusLength: 1024 })
      : generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const { names = ['localhost', '127.0.0.1'] } = options;
    const made = sequence(oid(OIDS.subjectAltName), der(0x04, sequence(...names.map(alternativeName))));
    const cert = this.#sign(names[0] ?? '', publicKey, made, options);
    return { cert, key: privateKey.export({ type: 'pkcs8', format: 'pem' }) };
  }

  #sign(subject: string, key: KeyObject, extension: Buffer, { from, until }: CertificateOptions): string {
    const now = Date.now();
    const signed = sequence(
      der(0xa0, der(0x02, Buffer.from([2]))),
      der(0x02, Buffer.from([this.#serial++])),
      ALGORITHM,
      nameOf(this.#name),
      sequence(time(from ?? now - HOUR_MS), time(until ?? now + 24 * HOUR_MS)),
      nameOf(subject),
      key.export({ type: 'spki', format: 'der' }),
      der(0xa3, sequence(extension)),
    );
    const signature = der(0x03, Buffer.from([0]), sign('sha256', signed, this.#key));
    return pem('CERTIFICATE', sequence(signed, ALGORITHM, signature));
  }
}

/** Writes a certificate, its key and the CA to files; returns the environment variables with their paths. */
export function writeTlsFiles(folder: string, { cert, key }: Certificate, ca: string) {
  const files = { CERT: cert, KEY: key, CA: ca };
  const named = Object.entries(files).map(([name, text]) => {
    const path = join(folder, `${name.toLowerCase()}.pem`);
    writeFileSync(path, text, { mode: 0o600 });
    return [`INTERNAL_TLS_${name}_FILE`, path] as const;
  });
  return Object.fromEntries(named) as Record<
    'INTERNAL_TLS_CERT_FILE' | 'INTERNAL_TLS_KEY_FILE' | 'INTERNAL_TLS_CA_FILE',
    string
  >;
}
