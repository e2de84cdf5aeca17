import { join } from 'node:path';
import { readDeb } from '../archive/deb.ts';
import type { Layer } from '../image/image.ts';
import { debianAddresses, download } from './download.ts';
import { type Architecture, type DebianLock, snapshotTime } from './lock.ts';
import { rootFiles } from './root.ts';

/** Debian's packages as the lowest layer. */
export async function baseLayer(lock: DebianLock, architecture: Architecture, cache: string): Promise<Layer> {
  const packages = lock.packages[architecture].map(async (facts) => {
    const { name, version, size, sha256: checksum } = facts;
    const addresses = debianAddresses(facts, lock.snapshot);
    const wanted = { name: `${name} ${version}`, addresses, algorithm: 'sha256', checksum, size } as const;
    return { facts, deb: readDeb(await download(wanted, join(cache, `${checksum}.deb`))) };
  });
  return { comment: 'Debian 13', modified: snapshotTime(lock), entries: rootFiles(await Promise.all(packages)) };
}
