import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createRunFolder } from './run-folder.ts';

test('a run deletes the folders of runs that were killed, and no others', () => {
  const parent = mkdtempSync(join(tmpdir(), 'guild-data-runs-'));
  onTestFinished(() => rmSync(parent, { recursive: true }));
  const { pid: ended } = spawnSync('true');
  const kept = [`guild-data-test-${process.pid}-other`, 'guild-data-test-x', 'guild-data-api'];
  for (const name of [`guild-data-test-${ended}-killed`, ...kept])
    mkdirSync(join(parent, name, 'data'), { recursive: true });
  const folder = createRunFolder(parent);
  expect(readdirSync(parent).toSorted()).toEqual([basename(folder), ...kept].toSorted());
});
