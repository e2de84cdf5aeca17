import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { printFigure } from '#test/measure/figures.ts';

const PROGRAM = fileURLToPath(new URL('./fixtures/many-keys.ts', import.meta.url));
const KEYS = 100_000;
const MOST_MB = 80;

test('100,000 keys that are remembered and used take less than 80 MB', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, ['--expose-gc', PROGRAM, String(KEYS)]);
  const { bytes, missing } = JSON.parse(stdout) as { bytes: number; missing: number };
  expect(missing).toBe(0);
  const megabytes = bytes / 1e6;
  printFigure('memory of 100,000 remembered keys', `${megabytes.toFixed(1)} MB (bound ${MOST_MB} MB)`);
  expect(megabytes).toBeGreaterThan(1);
  // Not ten times as much in the short form: a busy machine takes no more memory.
  expect(megabytes).toBeLessThan(MOST_MB);
}, 60_000);
