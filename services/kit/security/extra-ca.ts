import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { getCACertificates } from 'node:tls';
import { ConfigError } from '../service/config.ts';

/** Returns the text of a PEM file. Throws a ConfigError that names the variable with the path if it has no certificate. */
export function readCa(variable: string, file: string): string {
  try {
    const text = readFileSync(file, 'utf8');
    // A TLS context ignores a file without certificates; this throws.
    void new X509Certificate(text);
    return text;
  } catch (error) {
    throw new ConfigError([`${variable} cannot be used: ${(error as Error).message}`]);
  }
}

/**
 * Returns the CAs that Node trusts by default and those of a PEM file. Throws a ConfigError that names the variable with
 * the path if the file has no certificate.
 */
export function withExtraCa(variable: string, file: string): string[] {
  return [...getCACertificates('default'), readCa(variable, file)];
}
