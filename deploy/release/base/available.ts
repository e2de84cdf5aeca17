// `node deploy/release/base/available.ts`: ends with status 75 if the packages of Debian cannot be downloaded now.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '#kit/files.ts';
import { findProgram } from '#local/child.ts';
import { mirror, SNAPSHOTS } from './download.ts';
import { ARCHITECTURES, readDebianLock } from './lock.ts';

/** The exit status for a temporary failure (EX_TEMPFAIL of sysexits.h). */
const TEMPORARY = 75;
const PATIENCE_MS = 15_000;

/** Where packages come from: a folder with those that were downloaded, and servers. */
type Sources = { cache?: string; addresses?: readonly string[] };

/** Where a release stores what it has downloaded. */
export const cacheOf = (repository: string): string => join(repository, 'node_modules', '.cache', 'release');

/**
 * Returns why a release cannot be made on this machine now: a program is missing, or packages are not in the cache and
 * no mirror responds. Undefined if nothing is in the way.
 */
export async function obstacle(
  programs: readonly string[],
  { cache = cacheOf(ROOT), addresses = [mirror(), SNAPSHOTS] }: Sources = {},
): Promise<string | undefined> {
  const missing = programs.filter((name) => !findProgram(name));
  if (missing.length > 0) return `there is no ${missing.join(' and no ')} on the path`;
  const { packages } = readDebianLock();
  const isCached = ({ sha256 }: { sha256: string }) => existsSync(join(cache, `${sha256}.deb`));
  if (ARCHITECTURES.every((each) => packages[each].every(isCached))) return undefined;
  const responses = await Promise.all(addresses.map(responds));
  return responses.includes(true) ? undefined : `neither ${addresses.join(' nor ')} responds`;
}

/** Any response but that of a failed proxy counts, so that a wrong address is not taken for an outage. */
async function responds(address: string): Promise<boolean> {
  try {
    const response = await fetch(address, { method: 'HEAD', signal: AbortSignal.timeout(PATIENCE_MS) });
    return response.status < 500;
  } catch {
    return false;
  }
}

if (import.meta.main) {
  const reason = await obstacle(['openssl', 'xz']);
  if (reason !== undefined) {
    console.log(reason);
    process.exitCode = TEMPORARY;
  }
}
