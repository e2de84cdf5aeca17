// `node deploy/release/base/update-lock.ts`: writes debian.lock.json with the newest packages of the base layer. It needs a
// Debian machine: gpgv checks the signature of each index, dpkg compares versions, xz decompresses.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { decompress } from '../archive/deb.ts';
import { fetchUpTo, mirror } from './download.ts';
import { ARCHITECTURES, type Architecture, type DebianLock, type DebianPackage, LOCK_FILE } from './lock.ts';
import { checkRelease, listedChecksum, named } from './packages-index.ts';

const KEYRING = '/usr/share/keyrings/debian-archive-keyring.gpg';

const SUITES = [
  { archive: 'debian', suite: 'trixie' },
  { archive: 'debian', suite: 'trixie-updates' },
  { archive: 'debian-security', suite: 'trixie-security' },
] as const;

/** Three times the size of the largest index. */
const MAX_INDEX_BYTES = 32 * 1024 * 1024;

/** What the image needs besides Node and the application. gcc-14-base has the licences of the libraries of GCC. */
const NAMES = [
  'base-files',
  'ca-certificates',
  'gcc-14-base',
  'libatomic1',
  'libc6',
  'libgcc-s1',
  'libstdc++6',
  'netbase',
  'tzdata',
] as const;

async function download(archive: DebianPackage['archive'], path: string): Promise<Buffer> {
  try {
    return await fetchUpTo(MAX_INDEX_BYTES, `${mirror()}/${archive}/${path}`);
  } catch (error) {
    throw new Error(`could not download ${path} from Debian's mirror`, { cause: error });
  }
}

/** Downloads the Release file of a suite and returns what Debian's key signed. */
async function signedRelease(archive: DebianPackage['archive'], suite: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'release-'));
  try {
    const [signed, checked] = [join(folder, 'InRelease'), join(folder, 'Release')];
    writeFileSync(signed, await download(archive, `dists/${suite}/InRelease`));
    const { status, stderr } = spawnSync('gpgv', ['--keyring', KEYRING, '--output', checked, signed]);
    if (status !== 0) throw new Error(`the signature of ${suite} is not valid: ${stderr.toString()}`);
    const release = readFileSync(checked, 'utf8');
    checkRelease(release, suite, new Date());
    return release;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function candidates(architecture: Architecture): Promise<DebianPackage[]> {
  const found = [];
  for (const { archive, suite } of SUITES) {
    const path = `main/binary-${architecture}/Packages.xz`;
    const index = await download(archive, `dists/${suite}/${path}`);
    const checksum = createHash('sha256').update(index).digest('hex');
    if (checksum !== listedChecksum(await signedRelease(archive, suite), path)) {
      throw new Error(`the index of ${suite} differs from its signed checksum; try again in some minutes`);
    }
    found.push(...named(decompress(index, '.xz').toString(), NAMES, archive));
  }
  return found;
}

const isNewer = (a: DebianPackage, b: DebianPackage): boolean =>
  spawnSync('dpkg', ['--compare-versions', a.version, 'gt', b.version]).status === 0;

async function newest(architecture: Architecture): Promise<DebianPackage[]> {
  const all = await candidates(architecture);
  return NAMES.map((name) => {
    const [first, ...others] = all.filter((each) => each.name === name);
    if (!first) throw new Error(`there is no package ${name}`);
    return others.reduce((best, each) => (isNewer(each, best) ? each : best), first);
  });
}

const [amd64, arm64] = await Promise.all(ARCHITECTURES.map(newest));
if (!amd64 || !arm64) throw new Error('an architecture is missing');
const snapshot = new Date().toISOString().replaceAll(/[-:]|\.\d+/g, '');
const lock: DebianLock = { snapshot, packages: { amd64, arm64 } };
writeFileSync(LOCK_FILE, `${JSON.stringify(lock, null, 2)}\n`);
for (const { name, version } of amd64) console.log(`${name} ${version}`);
