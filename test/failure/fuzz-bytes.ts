import { parseArgs } from 'node:util';
import { startFront } from './bytes/front.ts';
import { fuzz } from './bytes/fuzz.ts';

/** `node test/failure/fuzz-bytes.ts --cases N --seed S`; `--only NUMBER` repeats one case of a seed. */
const { values } = parseArgs({
  options: { cases: { type: 'string' }, seed: { type: 'string' }, only: { type: 'string' } },
});
const seed = Number(values.seed ?? Date.now() % 2 ** 31);
const cases = Number(values.cases ?? 10_000);
const front = await startFront();
const started = performance.now();
const only = values.only === undefined ? {} : { only: Number(values.only) };
const { failures, arrived, rejected } = await fuzz(front, { cases, seed, ...only });
for (const failure of failures.slice(0, 20)) console.error(failure);
const seconds = ((performance.now() - started) / 1000).toFixed(1);
console.log(
  `seed ${seed}: ${arrived} requests arrived, ${rejected} were rejected, ${failures.length} failures, ${seconds} s`,
);
await front.stop();
process.exitCode = failures.length > 0 ? 1 : 0;
