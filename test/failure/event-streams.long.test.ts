import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { amount } from '../measure/bounds.ts';
import { printFigure } from '../measure/figures.ts';
import { createTestDatabase, type TestDatabase } from '../postgres/database.ts';
import { testRedisUrl } from '../redis/database.ts';
import { EventWriter } from '../system/event-writer.ts';
import { Deployment } from './deployment.ts';
import { followWithCurl, followWithPackage, type StreamClient } from './stream-clients.ts';

const GUILD = '900000000000000001';
const CLIENTS_OF_EACH_KIND = amount(2, 5);
const PAUSE_MS = 25;
/** The seq of the event that reports the creation of the guild's key. */
const KEY_SEQ = 1;

let database: TestDatabase;
let deployment: Deployment;
let writer: EventWriter;
const clients: StreamClient[] = [];

beforeAll(async () => {
  database = await createTestDatabase();
  deployment = new Deployment({
    databaseUrl: database.url,
    redisUrl: await testRedisUrl(),
    replicas: 2,
    guilds: [GUILD],
    only: ['auth', 'events', 'gateway'],
    // Longer than the balancers need to notice that a process is not ready.
    environment: { DRAIN_DELAY_SECONDS: '1' },
  });
  await deployment.start();
  writer = new EventWriter(GUILD, {
    address: () => deployment.grpcAddress('events'),
    secret: deployment.internalSecret,
    seqBefore: KEY_SEQ,
  });
  const key = deployment.keys.get(GUILD) ?? '';
  const headers = { 'x-api-key': key, 'x-guild-id': GUILD };
  const newestSeq = async () => {
    const response = await fetch(`${deployment.api}/events?limit=1`, { headers });
    return ((await response.json()) as { data?: { next_after: number } }).data?.next_after;
  };
  await vi.waitUntil(async () => (await newestSeq()) === KEY_SEQ, { timeout: 30_000 });
  const target = { api: deployment.api, guild: GUILD, key, type: 'ban.created' };
  for (let count = 0; count < CLIENTS_OF_EACH_KIND; count++) {
    clients.push(followWithPackage(target), followWithCurl(target));
  }
}, 300_000);

afterAll(async () => {
  for (const client of clients) client.close();
  await deployment?.stop();
  await database?.drop();
}, 60_000);

/** Stores events one after the other while `work` runs. */
async function whileWriting(work: () => Promise<void>): Promise<void> {
  const stopped = new AbortController();
  const writing = (async () => {
    while (!stopped.signal.aborted) {
      await writer.append(1);
      await wait(PAUSE_MS);
    }
  })();
  await work().finally(() => stopped.abort());
  await writing;
}

/** Every client has each event once, in order. */
async function expectComplete(): Promise<void> {
  const all = writer.seqs(KEY_SEQ);
  for (const client of clients) {
    await expect.poll(() => client.failure ?? client.seqs.at(-1), { timeout: 30_000 }).toBe(all.at(-1));
    expect(
      client.seqs.filter((seq) => seq > KEY_SEQ),
      `${client.name} after ${client.connections} connections`,
    ).toEqual(all);
  }
}

const connections = () => clients.reduce((sum, client) => sum + client.connections, 0);

test('a rolling restart of gateways and events loses no event and repeats none', { timeout: 400_000 }, async () => {
  await whileWriting(async () => {
    await expect.poll(() => clients.every(({ seqs }) => seqs.length > 10), { timeout: 30_000 }).toBe(true);
    for (const name of ['events', 'gateway', 'events']) {
      for (const old of deployment.replicasOf(name)) {
        await deployment.startReplica(name);
        const { exit } = await deployment.terminate(old);
        expect([name, exit]).toEqual([name, { code: 0, signal: null }]);
      }
    }
  });
  await expectComplete();
  expect(connections()).toBeGreaterThan(2 * clients.length);
  printFigure('events that streams missed or had twice in a rolling restart', `0 of ${writer.newestSeq}`);
});

test('events services and gateways that are killed lose no event and repeat none', { timeout: 400_000 }, async () => {
  await whileWriting(async () => {
    for (const name of ['events', 'gateway']) {
      const [victim] = deployment.replicasOf(name);
      if (!victim) throw new Error(`no ${name} runs`);
      await deployment.kill(victim);
      await deployment.startReplica(name);
      await wait(2_000);
    }
  });
  await expectComplete();
  printFigure('events that streams missed or had twice when processes were killed', `0 of ${writer.newestSeq}`);
});
