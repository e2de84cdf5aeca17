import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { withinBound } from '../measure/bounds.ts';
import { printFigure, round } from '../measure/figures.ts';
import { PATIENCE } from '../patience.ts';
import type { CallResult } from '../system/system.ts';
import { expectNothingUnhandled } from './faults.ts';
import { FaultyNetwork, worldOf } from './faulty-network.ts';
import { TABLE } from './matrix.ts';
import { Cell, PROBES, type ProbeName } from './probes.ts';

expectNothingUnhandled();

const GUILD = '900000000000005001';
/** Bound for the first read. */
const FIRST_MS = 2_000;
/** Bound for requests once the breaker is open. */
const AT_ONCE_MS = 250;
const RECOVERY_MS = 5_000;
const WITH_DATABASE = ['auth', 'lookup', 'bindings', 'members', 'activity', 'moderation', 'events'];
/** Requests that may change something, and so have PostgreSQL's statement timeout. */
const WRITES: ProbeName[] = ['a link, made', 'a ban, made', 'a heartbeat', 'commands, polled'];
const NEEDING = Object.keys(TABLE.postgres) as ProbeName[];
const READS = NEEDING.filter((name) => !WRITES.includes(name));

const system = new FaultyNetwork();

beforeAll(() => system.start({ simulators: worldOf([GUILD]) }));
afterAll(() => system.stop());

async function timed(cell: Cell, name: ProbeName): Promise<CallResult & { name: ProbeName; milliseconds: number }> {
  const started = performance.now();
  const answer = await PROBES[name].call(cell);
  return { ...answer, name, milliseconds: performance.now() - started };
}

/** Services whose PostgreSQL breaker is open. */
async function rejecting(): Promise<string[]> {
  const open = await Promise.all(
    WITH_DATABASE.map(async (name) => {
      const page = await fetch(`http://${system.network.address(name, 'admin')}/metrics`);
      return (await page.text()).includes('breaker_open{dependency="postgres"} 1');
    }),
  );
  return WITH_DATABASE.filter((_, index) => open[index]);
}

test('while PostgreSQL hangs, reads get 503 within 2 s and later requests immediately; no request is a trial', async () => {
  const cell = await new Cell(system.network, GUILD).prepare();
  const all = (names: readonly ProbeName[]) => Promise.all(names.map((name) => timed(cell, name)));
  await system.inflict('postgres', 'slow');
  const writing = all(WRITES);
  const first = await all(READS);
  for (const { name, status, headers, milliseconds } of first) {
    printFigure(`${name}, first`, `${status} after ${round(milliseconds)} ms`);
    expect(status, `${name}, first`).toBe(503);
    expect(Number(headers.get('retry-after')), `of ${name}`).toBeGreaterThanOrEqual(1);
  }
  const longest = (calls: readonly { milliseconds: number }[]) => Math.max(...calls.map((call) => call.milliseconds));
  withinBound('the first reads of a PostgreSQL that hangs', longest(first), FIRST_MS);
  for (const { name, status } of await writing) expect([503, 504], `of ${name}`).toContain(status);

  await expect.poll(rejecting, PATIENCE).toEqual(WITH_DATABASE);
  // Longer than several probes take.
  const later = [];
  for (let time = 0; time < 10; time++) {
    later.push(...(await all(NEEDING)));
    await wait(300);
  }
  expect(new Set(later.map(({ status }) => status))).toEqual(new Set([503]));
  withinBound('later calls of a PostgreSQL that hangs', longest(later), AT_ONCE_MS);
  for (const name of system.network.services.keys()) {
    expect((await fetch(`http://${system.network.address(name, 'admin')}/livez`)).status, `of ${name}`).toBe(200);
    expect((await fetch(`http://${system.network.address(name, 'admin')}/readyz`)).status, `of ${name}`).toBe(200);
  }

  await system.restore('postgres', 'slow');
  const started = performance.now();
  await expect.poll(rejecting, PATIENCE).toEqual([]);
  withinBound('all services use PostgreSQL again', performance.now() - started, RECOVERY_MS);
  const back = await all(NEEDING);
  expect(back.map(({ name, status }) => [name, status])).toEqual(NEEDING.map((name) => [name, PROBES[name].well]));
}, 120_000);
