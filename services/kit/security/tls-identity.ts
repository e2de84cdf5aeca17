import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';

export interface InternalTlsConfig {
  INTERNAL_TLS_CERT_FILE?: string | undefined;
  INTERNAL_TLS_KEY_FILE?: string | undefined;
  INTERNAL_TLS_CA_FILE?: string | undefined;
}

/** The contents of the three PEM files: the certificate of this process, its private key and the CA bundle. */
export interface Identity {
  cert: Buffer;
  key: Buffer;
  ca: Buffer;
}

/** The paths of the three PEM files. */
export type IdentityFiles = Record<keyof Identity, string>;

const VARIABLES = ['INTERNAL_TLS_CERT_FILE', 'INTERNAL_TLS_KEY_FILE', 'INTERNAL_TLS_CA_FILE'] as const;

/**
 * Returns every fault of the certificate files of a process: only some are configured, or files are unusable. Faults
 * name variables and files, but contain none of the content.
 */
export function faultsOfInternalTls(config: InternalTlsConfig): string[] {
  const missing = VARIABLES.filter((name) => !config[name]);
  if (missing.length === VARIABLES.length) return [];
  if (missing.length > 0) return missing.map((name) => `${name} is required with the other two`);
  const [cert = '', key = '', ca = ''] = VARIABLES.map((name) => config[name]);
  return load({ cert, key, ca }).faults.map((fault) => `INTERNAL_TLS_… cannot be used: ${fault}`);
}

/**
 * Reads and checks the certificate files. Throws if a file is unreadable or not PEM, or if the private key does not
 * match the certificate. The error names files, but contains none of their content.
 */
export function readIdentity(files: IdentityFiles): Identity {
  const { identity, faults } = load(files);
  if (!identity) throw new Error(faults.join('; '));
  return identity;
}

/** Returns the content of the files, or every fault of each of them. */
function load(files: IdentityFiles): { identity?: Identity; faults: string[] } {
  const faults: string[] = [];
  const attempt = <Result>(work: () => Result): Result | undefined => {
    try {
      return work();
    } catch (error) {
      faults.push((error as Error).message);
      return undefined;
    }
  };
  const cert = attempt(() => readAs(files.cert, (content) => new X509Certificate(content)));
  const key = attempt(() => readAs(files.key, createPrivateKey));
  const ca = attempt(() =>
    readAs(files.ca, (content) => certificatesIn(content).map((each) => new X509Certificate(each))),
  );
  if (!cert || !key || !ca) return { faults };
  if (!cert.parsed.checkPrivateKey(key.parsed)) return { faults: [`${files.key} is not the key of ${files.cert}`] };
  const identity = { cert: cert.content, key: key.content, ca: ca.content };
  // TLS has further requirements for certificates, such as a minimum key length, which createSecureContext checks.
  attempt(() => parseAs(files.cert, () => createSecureContext(identity)));
  return faults.length > 0 ? { faults } : { identity, faults };
}

function readAs<Result>(file: string, parse: (content: Buffer) => Result): { content: Buffer; parsed: Result } {
  const content = readFileSync(file);
  return { content, parsed: parseAs(file, () => parse(content)) };
}

function parseAs<Result>(file: string, parse: () => Result): Result {
  try {
    return parse();
  } catch {
    throw new Error(`${file} is not valid PEM of the expected kind`);
  }
}

const PEM = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** Returns the PEM texts of the certificates of a bundle. Throws if it has none. */
export function certificatesIn(bundle: Buffer): string[] {
  const found = bundle.toString('latin1').match(PEM);
  if (!found) throw new Error('no certificate');
  return found;
}

/** Returns when the first of the certificates expires, in Unix seconds. */
export function endOf(certificates: readonly (string | Buffer)[]): number {
  return firstToExpire(certificates).validToDate.getTime() / 1000;
}

/** Returns since when the certificate that expires first has been valid, in Unix seconds. */
export function startOf(certificates: readonly (string | Buffer)[]): number {
  return firstToExpire(certificates).validFromDate.getTime() / 1000;
}

function firstToExpire(certificates: readonly (string | Buffer)[]): X509Certificate {
  const parsed = certificates.map((each) => new X509Certificate(each));
  return parsed.reduce((first, each) => (each.validToDate < first.validToDate ? each : first));
}

/** True if two identities have the same content. */
export const isSame = (one: Identity, other: Identity) =>
  one.cert.equals(other.cert) && one.key.equals(other.key) && one.ca.equals(other.ca);
