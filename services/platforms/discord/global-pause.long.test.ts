// Guarantee: from 100 ms after one global 429 until it is over, none of 40 processes starts a call to the platform.
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { performance } from 'node:perf_hooks';
import { createInterface } from 'node:readline';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { pathOf } from '#kit/files.ts';
import { amount, withinBound } from '#test/measure/bounds.ts';
import { printFigure } from '#test/measure/figures.ts';
import { PATIENCE } from '#test/patience.ts';
import { testRedisUrl } from '#test/redis/database.ts';
import { inheritedEnvironment } from '#test/system/processes.ts';
import { PlatformsFixture } from '../fixture.ts';

const PROCESSES = amount(4, 40);
const PAUSES = amount(1, 5);
const PAUSE_MS = 1_500;
/** The time within which all processes know of the 429. */
const NOTICE_MS = 100;
const START = { timeout: 120_000, interval: 50 };

let fixture: PlatformsFixture;
let children: ChildProcessWithoutNullStreams[];

beforeEach(async () => {
  children = [];
  fixture = await PlatformsFixture.start();
});
afterEach(async () => {
  for (const child of children) child.kill('SIGKILL');
  await fixture.stop();
});

const now = () => performance.timeOrigin + performance.now();

interface Outcome {
  starts: number[];
  succeeded: number;
}

/** Starts a process that calls the platform without a break. Its `stop` returns when its calls started. */
async function startProcess(redisUrl: string, url: string, index: number) {
  const guildId = String(900000000000000000n + BigInt(index));
  const program = pathOf('services/platforms/fixtures/calling-process.ts');
  const child = spawn(process.execPath, [program, redisUrl, url, guildId, String(PROCESSES)], {
    env: inheritedEnvironment(),
  });
  children.push(child);
  child.stderr.pipe(process.stderr);
  const lines = createInterface({ input: child.stdout });
  await once(lines, 'line');
  const outcome = once(lines, 'line');
  const stop = async (): Promise<Outcome> => {
    child.stdin.end();
    const [line] = await outcome;
    return JSON.parse(String(line));
  };
  return { stop };
}

/** The platform: limits all calls whenever `limitNext` is set, and then responds to none for a while. */
class LimitingPlatform {
  /** The Unix milliseconds of all requests. */
  readonly arrivals: number[] = [];
  /** The Unix milliseconds of the responses with a global 429. */
  readonly pauses: number[] = [];
  limitNext = false;

  respond(path: string, response: ServerResponse): void {
    this.arrivals.push(now());
    response.setHeader('content-type', 'application/json');
    if (path === '/users/@me') return void response.end(JSON.stringify({ id: '930000000000000001' }));
    if (!this.limitNext)
      return void response.end(JSON.stringify({ user: { id: '920000000000000001', username: 'ada' }, roles: [] }));
    this.limitNext = false;
    this.pauses.push(now());
    response.writeHead(429, { 'retry-after': String(PAUSE_MS / 1000), 'x-ratelimit-global': 'true' });
    response.end(JSON.stringify({ message: 'rate limited', retry_after: PAUSE_MS / 1000, global: true }));
  }
}

/** The milliseconds from the latest 429 to each of the times that is during its pause. */
const duringPauses = (times: readonly number[], pauses: readonly number[]) =>
  pauses.flatMap((at) => times.map((time) => time - at).filter((ms) => ms > 0 && ms < PAUSE_MS));

test(`after a global 429 none of ${PROCESSES} processes starts a call until it is over, and then calls succeed again`, async () => {
  const platform = new LimitingPlatform();
  const url = await fixture.serve((path, response) => platform.respond(path, response));
  const redisUrl = await testRedisUrl();
  const indexes = Array.from({ length: PROCESSES }, (_, index) => index);
  const processes = await Promise.all(indexes.map((index) => startProcess(redisUrl, url, index)));
  for (let pause = 1; pause <= PAUSES; pause++) {
    const before = platform.arrivals.length;
    await vi.waitUntil(() => platform.arrivals.length > before + 60, START);
    platform.limitNext = true;
    await vi.waitUntil(() => platform.pauses.length === pause, PATIENCE);
    const over = (platform.pauses.at(-1) ?? 0) + PAUSE_MS;
    await vi.waitUntil(() => platform.arrivals.some((at) => at > over), PATIENCE);
  }
  const outcomes = await Promise.all(processes.map(({ stop }) => stop()));
  expect(outcomes.every(({ succeeded }) => succeeded > 0)).toBe(true);
  const starts = outcomes.flatMap((outcome) => outcome.starts);
  const late = duringPauses(starts, platform.pauses);
  printFigure(
    'calls that started within the first 100 ms of a pause',
    `${late.filter((ms) => ms <= NOTICE_MS).length}`,
  );
  const lateArrivals = duringPauses(platform.arrivals, platform.pauses);
  printFigure('last arrival after a global 429', `${Math.round(Math.max(0, ...lateArrivals))} ms`);
  withinBound('last start of a call after a global 429', Math.max(0, ...late), NOTICE_MS);
}, 240_000);
