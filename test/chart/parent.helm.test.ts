import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { CHART } from '../../deploy/chart-files.ts';
import { type JsonObject, readChart } from './chart.ts';
import { helms, type Manifest, manifests, podsOf, runHelm } from './helm.ts';
import { OWN_SERVERS } from './manifests.ts';

const { name, version } = parse(readChart('Chart.yaml')) as { name: string; version: string };

let folder: string;
/** A chart that depends on ours, if `guild-data.x-enabled` is true. */
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'guild-data-parent-'));
  cpSync(CHART, join(folder, 'charts', name), { recursive: true });
  const dependency = { name, version, repository: '', condition: `${name}.x-enabled` };
  const metadata = { apiVersion: 'v2', name: 'parent', version: '1.0.0', dependencies: [dependency] };
  writeFileSync(join(folder, 'Chart.yaml'), JSON.stringify(metadata));
});
afterAll(() => rmSync(folder, { recursive: true }));

/** The objects of the parent chart with these values of ours. */
async function rendered(helm: string, values: JsonObject, global: JsonObject = {}): Promise<Manifest[]> {
  const words = ['template', 'community', folder, '--namespace', 'guild-data', '--values', '-'];
  return manifests(await runHelm(words, helm, JSON.stringify({ global, [name]: { ...OWN_SERVERS, ...values } })));
}

describe.each(helms())('as a dependency of another chart, with %s', (helm) => {
  test('the registry of all images, and the Secrets to pull them, may be global', async () => {
    const global = { imageRegistry: 'mirror.example', imagePullSecrets: ['pull'] };
    const pods = (await rendered(helm, { 'x-enabled': true }, global)).flatMap(podsOf);
    expect(pods.length).toBeGreaterThan(8);
    for (const { imagePullSecrets, containers } of pods) {
      expect(imagePullSecrets).toEqual([{ name: 'pull' }]);
      for (const { image } of containers as { image: string }[]) {
        expect(image).toBe(`mirror.example/guild-data:${version}`);
      }
    }
  });

  test('its condition may be x-enabled, because other unknown names are rejected', async () => {
    expect(await rendered(helm, { 'x-enabled': false })).toEqual([]);
    await expect(rendered(helm, { 'x-enabled': true, enabled: true })).rejects.toThrow('enabled');
  });
});
