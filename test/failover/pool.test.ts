import { randomUUID } from 'node:crypto';
import { dirname } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { ApiError } from '#kit/errors.ts';
import { Idempotency, StoredResponse } from '#kit/postgres/idempotency/idempotency.ts';
import { Listener } from '#kit/postgres/notifications/listener.ts';
import { Notifier } from '#kit/postgres/notifications/notifier.ts';
import { type Database, openDatabase } from '#kit/postgres/pool.ts';
import { SecretRing } from '#kit/security/keyring.ts';
import { Metrics } from '#kit/telemetry/metrics.ts';
import { binary } from '#local/postgres.ts';
import { databaseRows } from '../postgres/database.ts';
import { createDatabase, DATABASE, migrate, roleOf } from '../restore/installed-system.ts';
import { untilAccepting, urlOf } from './cluster.ts';
import type { ClusterNode } from './node.ts';
import { PlainServers } from './plain-servers.ts';

const log = pino({ level: 'silent' });
const SERVICE = 'members';
const CHANNEL = 'changes';
const UNAVAILABLE = expect.objectContaining({ code: 'UNAVAILABLE' });
const WAIT = { timeout: 60_000, interval: 50 };
const WRITERS = 5;

/** Three real servers, of which the first is the primary at the beginning. */
let cluster: PlainServers;
let first: ClusterNode;
let metrics: Metrics;
let database: Database;
let idempotency: Idempotency;
let listener: Listener;
const received: string[] = [];
/** How often the listener reported that changes arrive while it had no proof. */
let lateProofs = 0;

beforeAll(async () => {
  cluster = await PlainServers.start({ version: '', folder: dirname(binary('postgres')) }, async (node) => {
    await createDatabase(node);
    await migrate(node);
    // Without a unique column, so that a write that is applied twice is visible.
    await databaseRows(node.url(DATABASE), `CREATE TABLE ${SERVICE}.written (id text)`);
    await databaseRows(node.url(DATABASE), `GRANT ALL ON ${SERVICE}.written TO ${roleOf(SERVICE)}`);
  });
  first = cluster.nodes[0] as ClusterNode;
  await vi.waitUntil(() => first.acceptsWrites(), WAIT);
}, 120_000);
afterAll(() => cluster?.stop(), 60_000);

beforeEach(() => {
  metrics = new Metrics();
  const url = urlOf(cluster, SERVICE);
  database = openDatabase({ url, poolMax: WRITERS, name: 'test', metrics, log });
  const ring = new SecretRing(['a secret of this test that is long enough']);
  idempotency = new Idempotency({ schema: SERVICE, database, ring, responseTtlSeconds: 3_600 });
  listener = new Listener({
    url,
    name: 'test',
    channel: CHANNEL,
    log,
    metrics,
    onNotification: (payload) => void received.push(payload),
    onListening: async () => undefined,
    onVerified: () => {
      if (!listener.isReceiving) lateProofs++;
    },
  });
});
afterEach(async () => {
  first.heal();
  await listener.stop();
  await database.close();
});

/** Inserts a row, with its ID as the Idempotency-Key. */
function write(id: string) {
  const request = { guildId: '900000000000000001', method: 'POST', path: '/test', status: 200, message: 'done' };
  return idempotency.inTransaction({ ...request, key: id, bodyHash: Buffer.alloc(32) }, async (transaction) => {
    await transaction.query(`INSERT INTO ${SERVICE}.written (id) VALUES ($1)`, [id]);
    return { data: {} };
  });
}

/** Writes, and repeats as a client does, until the write is acknowledged. */
async function acknowledged(id: string): Promise<string> {
  for (;;) {
    try {
      await write(id);
      return id;
    } catch (error) {
      const isLater = error instanceof ApiError && (error.httpStatus >= 500 || error.retryAfter !== undefined);
      if (!isLater) throw error;
    }
    await wait(100);
  }
}

const writtenOn = async (node: ClusterNode) =>
  (await databaseRows<{ id: string }>(node.url(DATABASE), `SELECT id FROM ${SERVICE}.written`)).map(({ id }) => id);

/** Expects that LISTEN has moved: a notification that is sent from now on arrives. */
async function expectNotifications(): Promise<void> {
  const notifier = new Notifier({ database, channel: CHANNEL, log });
  const name = randomUUID();
  await vi.waitFor(() => {
    notifier.notify(name);
    expect(received).toContain(name);
  }, WAIT);
  await notifier.drain();
}

test('a repeat is not acknowledged while no standby has received the first write', async () => {
  const id = randomUUID();
  first.partition(false);
  await expect(write(id)).rejects.toThrow(UNAVAILABLE);
  // The session ends while its commit waits for a standby: the change is visible then, although no standby has it.
  await first.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'");
  await vi.waitFor(async () => expect(await writtenOn(first)).toContain(id), WAIT);
  await expect(write(id)).rejects.toThrow(UNAVAILABLE);

  first.heal();
  await vi.waitFor(async () => expect(await write(id)).toBeInstanceOf(StoredResponse), WAIT);
  expect((await writtenOn(first)).filter((one) => one === id)).toHaveLength(1);
});

test('LISTEN on a primary that is cut off from its standbys does not prove that changes arrive', async () => {
  await listener.start();
  await vi.waitUntil(() => listener.isReceiving, WAIT);
  first.partition(false);
  await vi.waitUntil(() => !listener.isReceiving, WAIT);
  expect(await database.query('SELECT 1 AS one')).toEqual([{ one: 1 }]);

  first.heal();
  await vi.waitUntil(() => listener.isReceiving, WAIT);
  expect(lateProofs).toBe(0);
});

test('a killed primary, then one that only clients still reach: nothing acknowledged is lost or applied twice, and LISTEN moves', {
  timeout: 180_000,
}, async () => {
  await listener.start();
  const before = await writtenOn(first);
  const stopped = new AbortController();
  const writers = Array.from({ length: WRITERS }, async () => {
    const ids: string[] = [];
    while (!stopped.signal.aborted) ids.push(await acknowledged(randomUUID()));
    return ids;
  });
  await vi.waitFor(async () => expect((await writtenOn(first)).length).toBeGreaterThan(before.length), WAIT);

  await cluster.killPrimary(first);
  const second = await untilAccepting(cluster.nodes.filter((node) => node !== first));
  await expectNotifications();
  await cluster.partitionPrimary(second, false);
  const third = await untilAccepting(cluster.nodes.filter((node) => node !== first && node !== second));
  await expectNotifications();
  await acknowledged(randomUUID()).then((id) => before.push(id));

  stopped.abort();
  const ids = (await Promise.all(writers)).flat();
  expect((await writtenOn(third)).toSorted()).toEqual([...before, ...ids].toSorted());
  expect(await metrics.registry.getSingleMetricAsString('postgres_primary_switches_total')).toContain('_total 2');

  // The former primary still accepts connections, but a process that has seen the next one never reads from it.
  await third.toClients.refuse();
  await expect.poll(() => database.query('SELECT 1').catch((error: unknown) => error), WAIT).toEqual(UNAVAILABLE);
  await wait(2_000);
  await expect(database.query('SELECT 1')).rejects.toThrow(UNAVAILABLE);
});
