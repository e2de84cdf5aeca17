import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { formatLuau } from '../format.ts';
import { luauFiles } from './luau-files.ts';

const FOLDER = join(import.meta.dirname, '..');
const FILES = luauFiles(FOLDER)
  .filter((path) => !path.startsWith('dist/'))
  .map((path) => ({ path, text: readFileSync(join(FOLDER, path), 'utf8') }));

const pathsOf = (files: typeof FILES) => files.map(({ path }) => path);

test('all Luau files are formatted: otherwise run npm run clients', () => {
  expect(FILES.length).toBeGreaterThan(30);
  expect(pathsOf(FILES.filter(({ text }) => formatLuau(text) !== text))).toEqual([]);
});

test('all Luau files are checked strictly', () => {
  expect(pathsOf(FILES.filter(({ text }) => !text.startsWith('--!strict\n')))).toEqual([]);
});

test('no Luau file is longer than 300 lines', () => {
  expect(pathsOf(FILES.filter(({ text }) => text.trimEnd().split('\n').length > 300))).toEqual([]);
});
