// `npm run release`: writes a release into the folder or registry of RELEASE_TO. deploy/release/README.md explains it.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOT } from '#kit/files.ts';
import { pushRelease, summaryOf, writeRelease } from './release.ts';
import { readSettings } from './settings.ts';
import { originOf, uncommitted } from './source.ts';
import { readSources } from './sources.ts';

const HELP = `usage: RELEASE_TO=… RELEASE_KEY_FILE=… npm run release

Makes a release of the commit that is checked out, which takes a few minutes.

  RELEASE_TO              an empty folder, or oci://HOST/PATH
  RELEASE_KEY_FILE        the private key that signs, ECDSA on P-256 as PEM
  RELEASE_KEY_PASSPHRASE  the passphrase of an encrypted key
  RELEASE_USER            with RELEASE_PASSWORD the credentials for the registry, if it requires some
  RELEASE_BUILDER         the URI that names the machine or pipeline in the provenance
  DEBIAN_MIRROR           a mirror with the folders debian and debian-security

More, also how to make a key: deploy/release/README.md`;

async function main(options: readonly string[]): Promise<void> {
  if (options.length > 0) {
    if (options.every((option) => ['-h', '--help'].includes(option))) return console.log(HELP);
    throw new Error(`npm run release takes no arguments, but variables\n\n${HELP}`);
  }
  const settings = readSettings(process.env);
  const changed = uncommitted(ROOT);
  if (changed.length > 0) throw new Error(`commit or remove these changes first:\n${changed.join('\n')}`);
  const scratch = mkdtempSync(join(tmpdir(), 'release-'));
  try {
    const { destination } = settings;
    const sources = await readSources(ROOT, join(scratch, 'app'), originOf(ROOT));
    const folder = 'folder' in destination ? destination.folder : join(scratch, 'release');
    const release = await writeRelease(folder, destination, sources, settings);
    await pushRelease(release, destination);
    for (const line of summaryOf(release)) console.log(line);
  } finally {
    rmSync(scratch, { recursive: true });
  }
}

try {
  await main(process.argv.slice(2));
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
