import { randomBytes } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Creates a folder that only its owner may enter. An existing folder is not changed. */
export function privateFolder(path: string): string {
  mkdirSync(path, { recursive: true, mode: 0o700 });
  return path;
}

/** Writes a file of mode 0600 atomically: a reader sees the old text or the new one, never a part. */
export function writePrivately(path: string, text: string): void {
  const temporary = join(dirname(path), `.${randomBytes(6).toString('hex')}.tmp`);
  try {
    writeFileSync(temporary, text, { mode: 0o600, flush: true });
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
}

/** The secret in a file of mode 0600, generated the first time: 32 random bytes as 64 hexadecimal digits. */
export function ensureSecret(path: string): string {
  if (!existsSync(path)) writePrivately(path, `${randomBytes(32).toString('hex')}\n`);
  // A copied or restored folder may have lost the mode.
  if ((statSync(path).mode & 0o077) !== 0) chmodSync(path, 0o600);
  return readFileSync(path, 'utf8').trim();
}
