// Times from the commit of an event to the socket of its receiver, with many endpoints, of which some are dead or slow.
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { amount, withinBound } from '#test/measure/bounds.ts';
import { printFigure } from '#test/measure/figures.ts';
import { bundledProgram } from '#test/system/app.ts';
import { startReplicaProcess } from '#test/system/replica-process.ts';
import { testEnvironment } from '#test/system/signed-calls.ts';
import { LOOPBACK } from './delivery/fixture.ts';
import { recorded } from './fixture.ts';
import type { Receiver } from './fixtures/receiver.ts';
import { WebhookFixture } from './fixtures/webhooks.ts';

const ENDPOINTS = amount(5_000, 100_000);
const SECONDS = amount(10, 60);
const PER_SECOND = 200;
const MAX_BATCH = 40;
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
    `INSERT INTO events.endpoints (guild_id, key_id, url, types, format, secret, secret_key, cursor_seq, wanted_seq)
     SELECT ($1::numeric + n)::text, 'test', CASE n % 100 WHEN 50 THEN $2 WHEN 99 THEN ($3::text[])[1 + (n / 100) % $4]
       ELSE $5 END, '{*}', 'standard', (SELECT secret FROM events.endpoints LIMIT 1), '', 0, 0
     FROM generate_series(0, $6 - 1) AS n`,
    [String(FIRST), NOBODY, slow.map(({ url }) => url), SLOW_HOSTS, healthy.url, ENDPOINTS],
  );
  await fixture.rows('ANALYZE events.endpoints');
  await fixture.events.stop();
  const environment = { ...testEnvironment(fixture.testDatabase.url), ...LOOPBACK };
  ({ at: fixture.events } = await startReplicaProcess(await bundledProgram('events'), environment));
}, 300_000);
afterAll(() => fixture.stop());

const isHealthy = (n: number) => n % 100 !== 50 && n % 100 !== 99;
/** The number of the healthy endpoint at a position, which is repeated when there is no further one. */
const healthyAt = (position: number) => {
  const within = position % 98;
  return (Math.floor(position / 98) * 100 + within + (within >= 50 ? 1 : 0)) % ENDPOINTS;
};

/**
 * Appends 200 events a second, each to the guild that `next` returns, in one call after the other, as a service relays
 * them. Returns the milliseconds from the call to the socket of the receiver, for healthy endpoints.
 */
async function measure(seconds: number, next: (count: number) => number): Promise<number[]> {
  const log = fixture.log();
  const sentAt = new Map<string, number>();
  healthy.received.length = 0;
  const startedAt = Date.now();
  const eventOf = (count: number) => {
    const guild = next(count);
    const number = (lastNumbers.get(guild) ?? 0) + 1;
    lastNumbers.set(guild, number);
    const event = { ...recorded(number), guildId: String(FIRST + BigInt(guild)) };
    if (isHealthy(guild)) sentAt.set(event.id, Date.now());
    return event;
  };
  for (let count = 0; count < seconds * PER_SECOND; ) {
    const due = Math.min(seconds * PER_SECOND, ((Date.now() - startedAt) * PER_SECOND) / 1_000);
    const events: ReturnType<typeof eventOf>[] = [];
    while (count < due && events.length < MAX_BATCH) events.push(eventOf(count++));
    if (events.length > 0) await log.appendEvents({ service: 'moderation', events });
    else await wait(1);
  }
  await expect.poll(() => healthy.received.length, { timeout: 60_000 }).toBeGreaterThanOrEqual(sentAt.size);
  return healthy.received
    .map(({ event, at }) => at - (sentAt.get(event.id) ?? at))
    .toSorted((one, other) => one - other);
}
const lastNumbers = new Map<number, number>();

const percentile = (sorted: readonly number[], share: number) => sorted[Math.floor(share * (sorted.length - 1))] ?? 0;

test(`${PER_SECOND} events a second, each for another endpoint, reach the receiver's socket in time`, async () => {
  await measure(2, healthyAt);
  const delays = await measure(SECONDS, (count) => healthyAt(400 + count));
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
