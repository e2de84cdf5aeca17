import { KEY_BYTES, type KeysByPurpose, SecretRing } from './keyring.ts';
import { KEY_HOLDERS, purposesOf, rootOf } from './purposes.ts';

/**
 * The root secrets from which all keys are derived, the newest first: `admin` for operators' keys, `internal` for all
 * others.
 */
export interface Roots {
  internal: readonly string[];
  admin: readonly string[];
}

const MAX_KEYS = 2;

/** Derives the keys of several purposes from the root secrets. */
export function deriveKeys(purposes: readonly string[], { internal, admin }: Roots): KeysByPurpose {
  const rings = { internal: new SecretRing(internal), admin: new SecretRing(admin) };
  return new Map(purposes.map((purpose) => [purpose, rings[rootOf(purpose)].derive(purpose)]));
}

/** Returns the value of the variable INTERNAL_KEYS for one process. Throws for an unknown process. */
export function internalKeysOf(process: string, roots: Roots): string {
  const purposes = purposesOf(process);
  if (!purposes) throw new Error(`unknown process ${process}; the processes are ${KEY_HOLDERS.join(', ')}`);
  return formatKeys(deriveKeys(purposes, roots));
}

/**
 * Formats derived keys as `purpose=KEY.OLDER,purpose=KEY`, in base64url, which needs no quotes in a shell, a file or
 * YAML.
 */
export function formatKeys(keys: KeysByPurpose): string {
  return [...keys].map(([purpose, all]) => `${purpose}=${all.map(encode).join('.')}`).join(',');
}

/** Parses derived keys that `formatKeys` has formatted. Throws an error that says what is wrong and contains no key. */
export function parseKeys(text: string): KeysByPurpose {
  const keys = new Map<string, Buffer[]>();
  for (const entry of text.split(',').map((part) => part.trim())) {
    const [purpose = '', values, ...rest] = entry.split('=');
    if (!PURPOSE.test(purpose) || values === undefined || rest.length > 0) throw new Error(MALFORMED);
    if (keys.has(purpose)) throw new Error(`must hold ${purpose} once`);
    const all = values.split('.').map(decode);
    if (all.length > MAX_KEYS) throw new Error(`must hold at most two keys for ${purpose}`);
    if (!all.every((key) => key.length === KEY_BYTES)) throw new Error(`must hold keys of 32 bytes for ${purpose}`);
    keys.set(purpose, all);
  }
  return keys;
}

const PURPOSE = /^[a-z][a-z0-9:-]{0,79}$/;
const MALFORMED = 'must be `purpose=KEY,…` as `guildctl secrets derive` prints it';

const encode = (key: Buffer) => key.toString('base64url');
const decode = (text: string) => Buffer.from(/^[\w-]+$/.test(text) ? text : '', 'base64url');
