import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { pathOf } from '#kit/files.ts';

const manifest = z.looseObject({ name: z.string(), version: z.string(), license: z.string().default('unknown') });
const LICENCE_FILE = /^(?:licen[cs]e|notice|copying)/i;

/** The names, versions and licences of packages, with the texts that their licences require in every copy. */
export function licenceText(packages: readonly string[]): string {
  return packages.map(licenceOf).join('\n');
}

function licenceOf(folder: string): string {
  const { name, version, license } = manifest.parse(
    JSON.parse(readFileSync(pathOf(join(folder, 'package.json')), 'utf8')),
  );
  const texts = readdirSync(pathOf(folder))
    .filter((file) => LICENCE_FILE.test(file))
    .sort()
    .map((file) => readFileSync(pathOf(join(folder, file)), 'utf8').trim());
  return ['='.repeat(80), `${name} ${version}, licence: ${license}`, ...texts, ''].join('\n\n');
}
