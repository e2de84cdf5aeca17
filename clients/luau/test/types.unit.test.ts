import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readModuleTree } from '../packages/module-tree.ts';
import { bundle } from '../packages/one-file.ts';
import { SOURCE } from './fixture.ts';

// Luau's own type checker, `luau-analyze` of https://github.com/luau-lang/luau, on the path or in LUAU_ANALYZE.
const ANALYZE = process.env['LUAU_ANALYZE'] ?? 'luau-analyze';
const IS_AVAILABLE = spawnSync(ANALYZE, ['--help']).error === undefined;

/** What the engine adds to Luau. Its types are unknown here. */
const ENGINE = 'local game: any, task: any, warn: any = nil :: any, nil :: any, nil :: any';

if (!IS_AVAILABLE)
  console.log(
    'NOT CHECKED: the types of the Luau module, because there is no luau-analyze on the path or in LUAU_ANALYZE',
  );

let folder: string;

// The hooks do not run if all tests are skipped.
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'luau-types-'));
});
afterAll(() => {
  rmSync(folder, { recursive: true });
});

/** Returns the errors in the one-file package, which has the types of all modules, by module. */
function errorsOf(source: string, solver: 'old' | 'new'): string[] {
  const path = join(folder, 'GuildData.luau');
  writeFileSync(path, source.replace('--!strict', `--!strict ${ENGINE}`.replace(' local', '\nlocal')));
  const { stdout, stderr } = spawnSync(ANALYZE, [`--solver=${solver}`, '--formatter=gnu', path], { encoding: 'utf8' });
  const lines = source.split('\n');
  return `${stdout}${stderr}`
    .split('\n')
    .filter(Boolean)
    .map((text) => text.replace(/^.*\.luau:(\d+)[^ ]*/, (_, line: string) => placeOf(lines, Number(line) - 2)));
}

/** Names the module of a line of the one file, and quotes the line. */
function placeOf(lines: readonly string[], index: number): string {
  const heading = lines.slice(0, index).findLast((line) => line.startsWith('-- ----'));
  return `${/\((.*)\)/.exec(heading ?? '')?.[1]}: ${lines[index]?.trim()}:`;
}

test.skipIf(!IS_AVAILABLE).each(['old', 'new'] as const)('the types are right for the %s type solver', (solver) => {
  const source = bundle(readModuleTree(SOURCE, 'GuildData'));
  expect(errorsOf(source, solver)).toEqual([]);
  // The checker works: it finds a mistake.
  expect(
    errorsOf(`${source.replace(/return GuildData\n$/, '')}local _wrong: number = GuildData.VERSION\n`, solver),
  ).toEqual([expect.stringContaining("Expected this to be 'number', but got 'string'")]);
});
