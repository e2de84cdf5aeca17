import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { printFigure } from '#test/measure/figures.ts';

const PROGRAM = fileURLToPath(new URL('./fixtures/many-keys.ts', import.meta.url));
const KEYS = 100_000;
const MAX_MB = 80;

test('100,000 cached and used keys take less than 80 MB', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, ['--expose-gc', PROGRAM, String(KEYS)]);
  const { bytes, missing } = JSON.parse(stdout) as { bytes: number; missing: number };
  expect(missing).toBe(0);
  const megabytes = bytes / 1e6;
  printFigure('memory of 100,000 cached keys', `${megabytes.toFixed(1)} MB (bound ${MAX_MB} MB)`);
  expect(megabytes).toBeGreaterThan(1);
  // The bound is the same in the short form, because memory does not depend on the load of the machine.
  expect(megabytes).toBeLessThan(MAX_MB);
}, 60_000);
