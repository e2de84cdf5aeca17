// `npm run release`: writes a release into the folder or registry of RELEASE_TO. deploy/release/README.md explains it.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOT } from '#kit/files.ts';
import { pushRelease, summaryOf, writeRelease } from './release.ts';
import { readSettings } from './settings.ts';
import { originOf, uncommitted } from './source.ts';
import { readSources } from './sources.ts';

async function main(): Promise<void> {
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
  await main();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
