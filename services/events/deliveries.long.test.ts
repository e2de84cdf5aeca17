// Times from the commit of an event to the socket of its receiver, with many endpoints, of which some are dead or slow.
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { amount, withinBound } from '#test/measure/bounds.ts';
import { printFigure } from '#test/measure/figures.ts';
import { startReplicaProcess } from '#test/system/replica-process.ts';
import { testEnvironment } from '#test/system/signed-calls.ts';
import { recorded } from './fixture.ts';
import type { Receiver } from './fixtures/receiver.ts';
import { LOCAL_WEBHOOKS, WebhookFixture } from './fixtures/webhooks.ts';

const ENDPOINTS = amount(5_000, 100_000);
const SECONDS = amount(10, 60);
const PER_SECOND = 200;
/** The first guild; each has one endpoint. */
const FIRST = 920_000_000_000_000_000n;
const SLOW_MS = 15_500;
/** Slow endpoints are at several hosts, as in reality. */
const SLOW_HOSTS = 8;
const NOBODY = 'http://127.0.0.1:1024/';

const fixture = new WebhookFixture({ controlsTime: false });
let healthy: Receiver;

beforeAll(async () => {
  await fixture.start();
  // The endpoints are served by a process of its own; this one only creates the first of them.
  healthy = await fixture.receiver();
  const slow = await Promise.all(Array.from({ length: SLOW_HOSTS }, () => fixture.receiver()));
  for (const receiver of slow) {
    receiver.respond = (_request, response) => setTimeout(() => response.end(), SLOW_MS).unref();
  }
  await fixture.create(String(FIRST - 1n), { url: healthy.url });
  await fixture.rows(
    `INSERT INTO events.endpoints (guild_id, key_id, url, types, format, secret, cursor_seq, wanted_seq)
     SELECT ($1::numeric + n)::text, 'test', CASE n % 100 WHEN 50 THEN $2 WHEN 99 THEN ($3::text[])[1 + (n / 100) % $4]
       ELSE $5 END, '{*}', 'standard', (SELECT secret FROM events.endpoints LIMIT 1), 0, 0
     FROM generate_series(0, $6 - 1) AS n`,
    [String(FIRST), NOBODY, slow.map(({ url }) => url), SLOW_HOSTS, healthy.url, ENDPOINTS],
  );
  await fixture.rows('ANALYZE events.endpoints');
  await fixture.events.stop();
  const environment = { ...testEnvironment(fixture.testDatabase.url), ...LOCAL_WEBHOOKS };
  ({ at: fixture.events } = await startReplicaProcess(join(import.meta.dirname, 'main.ts'), environment));
}, 300_000);
afterAll(() => fixture.stop());

const isHealthy = (n: number) => n % 100 !== 50 && n % 100 !== 99;

/** Appends 200 events a second, each to the guild that `next` returns, and returns the delays of healthy endpoints in ms. */
async function measure(seconds: number, next: (count: number) => number): Promise<number[]> {
  const log = fixture.log();
  const sentAt = new Map<string, number>();
  const numbers = new Map<number, number>();
  healthy.received.length = 0;
  const startedAt = Date.now();
  const calls: Promise<unknown>[] = [];
  for (let count = 0; count < seconds * PER_SECOND; count++) {
    const late = startedAt + (count * 1_000) / PER_SECOND - Date.now();
    if (late > 1) await wait(late);
    const guild = next(count);
    const number = (numbers.get(guild) ?? firstNumbers.get(guild) ?? 0) + 1;
    numbers.set(guild, number);
    firstNumbers.set(guild, number);
    const event = { ...recorded(number), guildId: String(FIRST + BigInt(guild)) };
    if (isHealthy(guild)) sentAt.set(event.id, Date.now());
    calls.push(log.appendEvents({ service: 'moderation', events: [event] }));
  }
  await Promise.all(calls);
  await expect.poll(() => healthy.received.length, { timeout: 60_000 }).toBeGreaterThanOrEqual(sentAt.size);
  return healthy.received
    .map(({ event, at }) => at - (sentAt.get(event.id) ?? at))
    .toSorted((one, other) => one - other);
}
const firstNumbers = new Map<number, number>();

const percentile = (sorted: readonly number[], share: number) => sorted[Math.floor(share * (sorted.length - 1))] ?? 0;

test(`${PER_SECOND} events a second, each for another endpoint, reach the receiver's socket in time`, async () => {
  await measure(2, (count) => count * 100);
  const delays = await measure(SECONDS, (count) => (count * 100 + 1) % ENDPOINTS);
  expect(delays).toHaveLength(SECONDS * PER_SECOND);
  printFigure('p50 of call to socket, one endpoint per event', `${percentile(delays, 0.5)} ms`);
  withinBound('p95 of call to socket, one endpoint per event', percentile(delays, 0.95), 100);
}, 300_000);

test(`with ${ENDPOINTS} endpoints, of which 1 % are dead and 1 % take 15 s, the others receive their events in time`, async () => {
  let seed = 7;
  const random = () => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed % ENDPOINTS;
  };
  const delays = await measure(SECONDS, random);
  printFigure('p50 of call to socket with dead and slow endpoints', `${percentile(delays, 0.5)} ms`);
  withinBound('p95 of call to socket with dead and slow endpoints', percentile(delays, 0.95), 1_000);
  const [parked] = await fixture.rows<{ count: string }>('SELECT count(*) FROM events.parked');
  expect(Number(parked?.count)).toBeGreaterThan(0);
}, 300_000);
