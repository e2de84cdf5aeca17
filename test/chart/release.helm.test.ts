import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { CHART } from '../../deploy/chart-files.ts';
import { canStartRegistry, makeKey, type Registry, smallSources, startRegistry } from '../../deploy/release/fixture.ts';
import { pushRelease, type Release, writeRelease } from '../../deploy/release/release.ts';
import { helms, runHelm } from './helm.ts';

const hasRegistry = canStartRegistry();
beforeEach(({ skip }) => skip(!hasRegistry, 'there is no docker-registry'));

let folder: string;
let registry: Registry;
let release: Release;
beforeAll(async () => {
  if (!hasRegistry) return;
  folder = mkdtempSync(join(tmpdir(), 'release-'));
  registry = await startRegistry(folder);
  const destination = { host: registry.host, path: 'community' };
  const signer = { key: makeKey().key, builder: 'urn:guild-data:builder:test' };
  release = await writeRelease(join(folder, 'release'), destination, smallSources(), signer);
  await pushRelease(release, destination);
});
afterAll(async () => {
  await registry?.stop();
  if (folder) rmSync(folder, { recursive: true });
});

const chart = () => `oci://${registry.host}/community/charts/guild-data`;

const filesIn = (archive: string): string[] =>
  execFileSync('tar', ['-tzf', archive], { encoding: 'utf8' }).split('\n').filter(Boolean).toSorted();

describe.each(helms())('%s', (helm) => {
  test('pulls the released chart, and renders it with the released image', async () => {
    const to = mkdtempSync(join(folder, 'pulled-'));
    await runHelm(['pull', chart(), '--version', '0.1.0', '--plain-http', '--destination', to], helm);
    const pulled = join(to, 'guild-data-0.1.0.tgz');
    expect(readFileSync(pulled)).toEqual(readFileSync(join(release.folder, 'guild-data-0.1.0.tgz')));
    const rendered = await runHelm(['template', 'a', pulled, '--set', 'evaluation.enabled=true'], helm);
    expect(rendered).toContain(`image: ${registry.host}/community/guild-data:0.1.0\n`);
  });

  test('packages the same files', async () => {
    const to = mkdtempSync(join(folder, 'packaged-'));
    await runHelm(['package', CHART, '--destination', to], helm);
    expect(filesIn(join(release.folder, 'guild-data-0.1.0.tgz'))).toEqual(filesIn(join(to, 'guild-data-0.1.0.tgz')));
  });
});
