import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { parse } from 'yaml';
import { readTar } from '../archive/untar.ts';
import { packageChart } from './chart.ts';

const CHART = join(import.meta.dirname, '..', '..', '..', 'charts', 'guild-data');
const MODIFIED = new Date('2026-03-01');

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'chart-'));
  cpSync(CHART, folder, { recursive: true });
});
afterEach(() => rmSync(folder, { recursive: true }));

const unpacked = (archive: Buffer): Map<string, string> =>
  new Map(readTar(gunzipSync(archive)).map((each) => [each.path, each.type === 'file' ? each.content.toString() : '']));

test('the package has Chart.yaml first, the README, and nothing that .helmignore names', () => {
  const { archive, metadata } = packageChart(folder, MODIFIED);
  const paths = [...unpacked(archive).keys()];
  expect(metadata).toMatchObject({ apiVersion: 'v2', name: 'guild-data' });
  expect(paths[0]).toBe('guild-data/Chart.yaml');
  expect(paths).toEqual(
    expect.arrayContaining(['guild-data/README.md', 'guild-data/values.yaml', 'guild-data/templates/deployments.yaml']),
  );
  expect(paths.filter((path) => /^guild-data\/(ci|golden)\/|\.ts$/.test(path))).toEqual([]);
});

test('an image repository replaces two values and nothing else', () => {
  const image = { registry: 'registry.example:5000', repository: 'community/guild-data' };
  const values = unpacked(packageChart(folder, MODIFIED, image).archive).get('guild-data/values.yaml') ?? '';
  const original = parse(readFileSync(join(folder, 'values.yaml'), 'utf8'));
  expect(parse(values)).toEqual({ ...original, image: { ...original.image, ...image } });
  expect(values).toContain('# Prefix of the repository');
});

test('a rule of .helmignore that is not supported fails instead of packaging too much', () => {
  writeFileSync(join(folder, '.helmignore'), 'ci/*.yaml\n');
  expect(() => packageChart(folder, MODIFIED)).toThrow('.helmignore has a form that is not supported: ci/*.yaml');
});
