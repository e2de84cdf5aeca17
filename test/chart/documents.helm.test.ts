import { globSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { pathOf } from '#kit/files.ts';
import { type JsonObject, schemaAt, values } from './chart.ts';
import { render } from './helm.ts';
import { OWN_SERVERS } from './manifests.ts';

const DOCUMENTS = globSync(['charts/guild-data/README.md', 'deploy/{operations,prometheus}/*.md', 'UPGRADING.md'], {
  cwd: pathOf('.'),
});
const textOf = (document: string) => readFileSync(pathOf(document), 'utf8');

/** The values in blocks of YAML, in which `…` stands for a checksum. */
const blocks = DOCUMENTS.flatMap((document) => {
  const found = [...textOf(document).matchAll(/^( *)```yaml\n([^]*?)^\1```$/gm)];
  return found.map(([, , block = ''], index) => {
    return { document, number: index + 1, block: block.replaceAll('sha256:…', `sha256:${'a'.repeat(64)}`) };
  });
});

test.each(blocks)('the chart accepts the values of block $number in $document', async ({ block }) => {
  const all = await render({ values: { ...OWN_SERVERS, ...(parse(block) as JsonObject) } });
  expect(all).not.toEqual([]);
});

test('documents show values', () => {
  expect(blocks.length).toBeGreaterThan(4);
});

/** What stands for a name in documents. */
const PLACEHOLDERS: Readonly<Record<string, string>> = { NAME: 'gateway', SERVER: 'postgresql' };
/** An address that begins like a value. */
const ADDRESS = 'console.example';

test.each(DOCUMENTS)('every value that %s names exists', (document) => {
  const named = [...textOf(document).matchAll(/`([a-z]\w*(?:\.\w+)+)(?=[`:])/g)].map(([, name = '']) => name);
  const missing = named.filter((name) => {
    const path = name.split('.').map((part) => PLACEHOLDERS[part] ?? part);
    return (path[0] ?? '') in values && name !== ADDRESS && schemaAt(path) === undefined;
  });
  expect(missing).toEqual([]);
});
