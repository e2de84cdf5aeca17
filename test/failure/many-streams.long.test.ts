import { readFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { inParallel } from '#kit/resilience/parallel.ts';
import { amount, withinBound } from '../measure/bounds.ts';
import { openStream, type StreamReader } from '../network/event-stream.ts';
import { createTestDatabase, type TestDatabase } from '../postgres/database.ts';
import { testRedisUrl } from '../redis/database.ts';
import { EventWriter } from '../system/event-writer.ts';
import { Deployment } from './deployment.ts';

const STREAMS = amount(500, 5_000);
const STREAMS_PER_GUILD = 20;
/** For 5,000 streams 300 MB. */
const MAX_BYTES_PER_STREAM = 60_000;
const GUILDS = Array.from({ length: STREAMS / STREAMS_PER_GUILD }, (_, index) => `9000000000000${index + 10_000}`);
const CONCURRENCY = 25;

let database: TestDatabase;
let deployment: Deployment;
const readers: StreamReader[] = [];

beforeAll(async () => {
  database = await createTestDatabase();
  deployment = new Deployment({
    databaseUrl: database.url,
    redisUrl: await testRedisUrl(),
    replicas: 1,
    guilds: GUILDS,
    only: ['auth', 'events', 'gateway'],
  });
  await deployment.start();
}, 300_000);

afterAll(async () => {
  for (const reader of readers) reader.close();
  await deployment?.stop();
  await database?.drop();
}, 60_000);

/** The resident memory of a process in bytes. */
function residentMemory(name: string): number {
  const [replica] = deployment.replicasOf(name);
  const status = readFileSync(`/proc/${replica?.child.pid}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) * 1024;
}

const open = (guild: string) =>
  openStream(`${deployment.direct('gateway', 'public')}/api/v1/events/stream`, {
    'x-api-key': deployment.keys.get(guild) ?? '',
    'x-guild-id': guild,
  });

test('5,000 open streams add under 300 MB to the gateway, and all get their events', { timeout: 600_000 }, async () => {
  // The first requests of each guild compile code and fill caches.
  await inParallel(GUILDS, CONCURRENCY, async (guild) => (await open(guild)).close());
  await wait(3_000);
  const [gateway, events] = [residentMemory('gateway'), residentMemory('events')];
  const wanted = GUILDS.flatMap((guild) => Array.from({ length: STREAMS_PER_GUILD }, () => guild));
  await inParallel(wanted, CONCURRENCY, async (guild) => {
    const reader = await open(guild);
    expect(reader.status).toBe(200);
    readers.push(reader);
  });
  await inParallel(GUILDS, 5, async (guild) => {
    const address = () => deployment.grpcAddress('events');
    await new EventWriter(guild, { address, secret: deployment.internalSecret }).append(10);
  });
  // Each guild also has the event that reports the creation of its key.
  const written = (reader: StreamReader) => reader.events.filter(({ event }) => event === 'ban.created').length;
  const complete = () => readers.filter((reader) => written(reader) === 10).length;
  await expect.poll(complete, { timeout: 120_000, interval: 500 }).toBe(STREAMS);
  // Memory at rest, after comments.
  await wait(amount(2_000, 30_000));
  const megabytes = (bytes: number) => Math.round(bytes / 1e6);
  const bound = megabytes(STREAMS * MAX_BYTES_PER_STREAM);
  withinBound(
    `memory of the events service for ${STREAMS} streams`,
    megabytes(residentMemory('events') - events),
    bound,
    'MB',
  );
  withinBound(
    `memory of the gateway for ${STREAMS} streams`,
    megabytes(residentMemory('gateway') - gateway),
    bound,
    'MB',
  );
  expect(readers.filter(({ hasEnded }) => hasEnded)).toHaveLength(0);
});
