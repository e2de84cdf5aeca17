import type { Clock } from '#kit/clock.ts';

export const SECURITY_TXT_PATH = '/.well-known/security.txt';

const DAY_MS = 24 * 60 * 60 * 1000;
/** The number of days until security.txt expires. RFC 9116 recommends less than a year. */
const VALID_DAYS = 180;

export interface SecurityTxtOptions {
  /** The contacts for reports of vulnerabilities: URIs such as `mailto:` and `https:`, the preferred one first. */
  contacts: readonly string[];
  /** The public URL of the gateway; undefined if none is configured. */
  publicUrl: string | undefined;
  clock: Clock;
}

/**
 * Returns a function that creates security.txt (RFC 9116), the file where security researchers find out where to report
 * a vulnerability. Its expiry date is always VALID_DAYS from today. Returns undefined if there is no contact.
 */
export function securityTxt({ contacts, publicUrl, clock }: SecurityTxtOptions): (() => string) | undefined {
  if (contacts.length === 0) return undefined;
  const fixed = contacts.map((contact) => `Contact: ${contact}\n`);
  fixed.push('Preferred-Languages: en\n');
  if (publicUrl !== undefined) fixed.push(`Canonical: ${publicUrl}${SECURITY_TXT_PATH}\n`);
  return () => {
    const today = Math.floor(clock.now() / DAY_MS);
    const expires = new Date((today + VALID_DAYS) * DAY_MS).toISOString();
    return `${fixed.join('')}Expires: ${expires}\n`;
  };
}
