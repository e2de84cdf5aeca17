// Guarantee: from 100 ms after one global 429 until it is over, none of 40 processes starts a call to the platform.
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { systemClock } from '#kit/clock.ts';
import { connectRedis } from '#kit/redis/client.ts';
import { Breakers } from '#kit/resilience/breaker.ts';
import { Metrics } from '#kit/telemetry/metrics.ts';
import { amount } from '#test/measure/bounds.ts';
import { PATIENCE } from '#test/patience.ts';
import { testRedisUrl } from '#test/redis/database.ts';
import { SharedRedis } from '../budget/shared-redis.ts';
import { PlatformsFixture } from '../fixture.ts';
import { Discord } from './discord.ts';

const PROCESSES = 40;
const PAUSE_MS = 1_500;
/** The time that the platform's response takes to become known to all processes. */
const NOTICE_MS = amount(1_000, 100);
const log = pino({ level: 'silent' });

let fixture: PlatformsFixture;
let cleanups: (() => unknown)[];

beforeEach(async () => {
  cleanups = [];
  fixture = await PlatformsFixture.start();
});
afterEach(async () => {
  for (const cleanup of cleanups.toReversed()) await cleanup();
  await fixture.stop();
});

/** Returns a connector with its own connection to Redis, as another process has it. */
async function startProcess(redisUrl: string, url: string): Promise<Discord> {
  const metrics = new Metrics();
  const breakers = new Breakers(metrics);
  const connection = connectRedis(redisUrl, { name: 'test', log });
  await connection.start();
  await vi.waitFor(() => connection.client.ping(), PATIENCE);
  cleanups.push(
    () => connection.stop(),
    () => breakers.stop(),
  );
  const shared = new SharedRedis({ redis: connection.client, processes: PROCESSES, breakers, log });
  const config = {
    CHAT_API_URL: url,
    CHAT_BOT_TOKEN: 'token',
    CHAT_BOT_URL: 'https://bot.example',
    // Below what the processes want, so that calls wait for the budget while another process gets the 429.
    CHAT_GLOBAL_RPS: 50,
    CHAT_PROCESSES: PROCESSES,
  };
  return new Discord({ config, log, shared, breakers, metrics, clock: systemClock });
}

test('after a global 429 no process starts a call until it is over, and then calls succeed again', async () => {
  const starts: number[] = [];
  let limitedAt: number | undefined;
  const url = await fixture.serve((path, response) => {
    const now = performance.now();
    starts.push(now);
    response.setHeader('content-type', 'application/json');
    if (path === '/users/@me') {
      response.end(JSON.stringify({ id: '930000000000000001' }));
      return;
    }
    if (limitedAt === undefined && starts.length > 60) {
      limitedAt = now;
      response.writeHead(429, { 'retry-after': String(PAUSE_MS / 1000), 'x-ratelimit-global': 'true' });
      response.end(JSON.stringify({ message: 'rate limited', retry_after: PAUSE_MS / 1000, global: true }));
      return;
    }
    response.end(JSON.stringify({ user: { id: '920000000000000001', username: 'ada' }, roles: [] }));
  });
  const redisUrl = await testRedisUrl();
  const processes = await Promise.all(Array.from({ length: PROCESSES }, () => startProcess(redisUrl, url)));
  const stopped = new AbortController();
  let succeeded = 0;
  const flood = async (process: Discord, guildId: string) => {
    while (!stopped.signal.aborted) {
      await process.member(guildId, '920000000000000001').then(
        () => (succeeded += 1),
        () => sleep(20),
      );
    }
  };
  const floods = processes.map((process, index) => flood(process, String(900000000000000000n + BigInt(index))));
  await vi.waitFor(() => expect(limitedAt).toBeDefined(), PATIENCE);
  const until = (limitedAt ?? 0) + PAUSE_MS;
  await vi.waitFor(() => expect(performance.now()).toBeGreaterThan(until), PATIENCE);
  const before = succeeded;
  await vi.waitFor(() => expect(succeeded).toBeGreaterThan(before + 20), PATIENCE);
  stopped.abort();
  await Promise.all(floods);
  // Milliseconds after the response.
  const late = starts.map((at) => Math.round(at - (limitedAt ?? 0))).filter((ms) => ms > NOTICE_MS && ms < PAUSE_MS);
  expect(late).toEqual([]);
});
