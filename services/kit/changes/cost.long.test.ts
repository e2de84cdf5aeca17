import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { type RunningPostgres, startPostgres, VOLATILE } from '#local/postgres.ts';
import { type RunningRedis, startRedis } from '#local/redis.ts';
import { cpuSeconds } from '#test/load/cpu.ts';
import { amount, withinBound } from '#test/measure/bounds.ts';
import { printFigure, round } from '#test/measure/figures.ts';
import { newFolder, removeFolder } from './fixtures/feeds.ts';

const PROCESSES = 4;
const REPLICAS = amount(8, 40);
const CHANGES_PER_SECOND = 200;
/** Processes look every five seconds which others need notifications of the database. */
const SETTLING_MS = 12_000;
const MEASURED_MS = amount(5_000, 20_000);

const folder = newFolder();
let postgres: RunningPostgres;
let redis: RunningRedis;
const children: ChildProcess[] = [];

beforeAll(async () => {
  postgres = await startPostgres({ folder: join(folder, 'postgres'), settings: VOLATILE });
  const started = await startRedis({ folder: join(folder, 'redis') });
  if (!started) throw new Error('no Redis server is installed');
  redis = started;
});
afterEach(async () => {
  for (const child of children.splice(0)) {
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
});
afterAll(async () => {
  await Promise.all([postgres?.stop(), redis?.stop()]);
  removeFolder(folder);
});

/** Starts processes with a part of the replicas each, and waits until all receive changes. */
async function startReplicas(redisUrl?: string): Promise<void> {
  const each = String(REPLICAS / PROCESSES);
  const rate = String(CHANGES_PER_SECOND / REPLICAS);
  const program = join(import.meta.dirname, 'fixtures/feed-process.ts');
  const argumentsOf = [program, postgres.url, each, rate, ...(redisUrl ? [redisUrl] : [])];
  const ready = Array.from({ length: PROCESSES }, async () => {
    const child = spawn(process.execPath, argumentsOf, { stdio: ['ignore', 'pipe', 'inherit'] });
    children.push(child);
    await once(child.stdout, 'data');
  });
  await Promise.all(ready);
  await pause(SETTLING_MS);
}

/** Returns the share of a core that a server needs. */
async function shareOfCore(pid: number): Promise<number> {
  const [before, startedAt] = [cpuSeconds(pid), performance.now()];
  await pause(MEASURED_MS);
  return (100 * (cpuSeconds(pid) - before)) / ((performance.now() - startedAt) / 1_000);
}

const what = `${REPLICAS} replicas with ${CHANGES_PER_SECOND} changes a second`;

test('over Redis many replicas cost PostgreSQL less than 2 % of a core', { timeout: 180_000 }, async () => {
  await startReplicas(redis.url);
  const share = await shareOfCore(postgres.pid);
  expect(children.every((child) => child.exitCode === null)).toBe(true);
  withinBound(`PostgreSQL, changes over Redis, ${what}`, share, 2, '% of a core');
});

test('over the database they cost more', { timeout: 180_000 }, async () => {
  await startReplicas();
  const share = await shareOfCore(postgres.pid);
  expect(share).toBeGreaterThan(0);
  printFigure(`PostgreSQL, changes over the database, ${what}`, `${round(share)} % of a core`);
});
