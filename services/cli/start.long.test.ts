import { execFile } from 'node:child_process';
import { performance } from 'node:perf_hooks';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { pathOf } from '#kit/files.ts';
import { median } from '#test/load/stage.ts';
import { amount, withinBound } from '#test/measure/bounds.ts';

const run = promisify(execFile);
const MAX_START_MS = 150;

test('guildctl prints its help at once', async () => {
  // The first start fills the cache of compiled code.
  const { stdout } = await help();
  expect(stdout).toContain('keys create');
  const times: number[] = [];
  for (let starts = 0; starts < amount(5, 25); starts++) {
    const startedAt = performance.now();
    await help();
    times.push(performance.now() - startedAt);
  }
  withinBound('median time of guildctl --help', median(times), MAX_START_MS);
});

function help() {
  return run(process.execPath, [pathOf('services/cli/main.ts'), '--help'], { env: {} });
}
