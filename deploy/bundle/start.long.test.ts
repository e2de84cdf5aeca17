import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { DEPLOYABLES } from '#local/processes.ts';
import { amount, withinBound } from '#test/measure/bounds.ts';
import { ImageSystem } from './fixture.ts';

/** The processor time of a process until it is ready. */
const MAX_START_SECONDS = 0.4;
const MAX_RESIDENT_MB = 95;
/** After this time a process that serves nothing uses as much memory as it will. */
const REST_MS = amount(1_000, 20_000);
const TICKS_PER_SECOND = 100;

let system: ImageSystem;

beforeAll(async () => {
  system = await ImageSystem.prepare();
  // The others need services that they can call, so that all are started before one is measured.
  for (const deployable of DEPLOYABLES) await system.start(deployable);
}, 180_000);
afterAll(() => system.stop());

test.each(DEPLOYABLES)('$name starts with little processor time and rests in little memory', async (deployable) => {
  await system.processes.get(deployable.name)?.kill('SIGTERM');
  system.lines.length = 0;
  const { pid } = await system.start(deployable);
  const started = processorSeconds(pid);
  await pause(REST_MS);
  // Memory first, because it does not depend on how fast the machine is.
  withinBound(`memory of ${deployable.name} at rest`, residentMegabytes(pid), MAX_RESIDENT_MB, 'MB');
  withinBound(`processor time of the start of ${deployable.name}`, started, MAX_START_SECONDS, 's');
  // A process that reads its source map, for a stack, is not at rest.
  expect(
    system.lines.filter((line) => line.includes(`"service":"${deployable.name}"`) && line.includes('"stack"')),
  ).toEqual([]);
});

/** User and system time of all threads. */
function processorSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

function residentMegabytes(pid: number): number {
  const [, kilobytes] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kilobytes) / 1024;
}
