import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '#kit/clock.ts';
import type { GrpcClient } from '#kit/grpc/client.ts';
import type { Environment } from '#kit/service/config.ts';
import { freePorts } from '#local/ports.ts';
import { type AppendEventsRequest, EventLogServiceService } from '#proto/gen/guild/events/v1/events.ts';
import { EventsFixture, newGuild } from '#services/events/fixture.ts';
import { connect } from '#test/network/grpc.ts';
import { ApiError } from '../errors.ts';
import { Erasure } from '../personal-data/erasure.ts';
import { type Database, openDatabase } from '../postgres/pool.ts';
import { QueueWorker } from '../queue/worker.ts';
import { createLog } from '../telemetry/log.ts';
import { Metrics } from '../telemetry/metrics.ts';
import { EventRecorder } from './recorder.ts';
import { EVENTS_QUEUE, eventErasureRules, eventRelay } from './relay.ts';

const fixture = new EventsFixture();
let database: Database;
let client: GrpcClient<typeof EventLogServiceService>;
let workers: QueueWorker[] = [];
/** If set, replaces the call with which the relay sends events to the events service. */
let append: (request: AppendEventsRequest) => Promise<unknown>;
const recorder = new EventRecorder({ schema: 'lookup', wake: () => workers.forEach((worker) => worker.wake()) });

let ports: Environment;
beforeAll(async () => {
  // Kept for a restart: no other program takes these ports meanwhile.
  const [admin, http, grpc] = await freePorts(3);
  ports = { ADMIN_PORT: String(admin), HTTP_PORT: String(http), GRPC_PORT: String(grpc) };
  await fixture.start(ports);
  const log = await createLog({ service: 'test', level: 'silent' });
  database = openDatabase({ url: fixture.testDatabase.url, poolMax: 5, name: 'lookup', metrics: new Metrics(), log });
  client = connect(EventLogServiceService, 'events', fixture.events.addresses.grpc ?? '', systemClock).client;
});
beforeEach(() => {
  append = (request) => client.appendEvents(request);
});
afterEach(async () => {
  await Promise.all(workers.map((worker) => worker.drain()));
  workers = [];
});
afterAll(async () => {
  await database.close();
  await fixture.stop();
});

/** Starts a worker as a process of the service has it, by default with the test's own database. */
async function startWorker(on = database): Promise<QueueWorker> {
  const log = await createLog({ service: 'test', level: 'silent' });
  const relay = eventRelay({ schema: 'lookup', database: on, append: (request) => append(request) });
  const limits = { maxAttempts: 12, maxOutageSeconds: 3_600 };
  const worker = new QueueWorker([relay], { database, limits, metrics: new Metrics(), log });
  workers.push(worker);
  await worker.start();
  return worker;
}

const record = (guildId: string, first: number, count = 1) =>
  database.transaction((transaction) =>
    recorder.record(
      transaction,
      Array.from({ length: count }, (_, index) => ({
        guildId,
        type: 'shield.removed' as const,
        data: { game_id: first + index } as never,
      })),
    ),
  );

const waitingOf = async (guildId: string) =>
  (await database.query<{ n: number }>('SELECT count(*) AS n FROM lookup.events WHERE guild_id = $1', [guildId]))[0]?.n;
async function relayedAll(guildId: string): Promise<void> {
  await expect.poll(() => waitingOf(guildId), { timeout: 20_000 }).toBe(0);
}
const gameIds = async (guildId: string) => (await fixture.read(guildId)).map(({ data }) => data['game_id']);
const upTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

/** Makes waiting events due that back off, or are leased by a process that has died. */
const makeDue = () =>
  database.query('UPDATE lookup.events SET run_at = now(), leased_until = NULL WHERE run_at > now()');

test('events are stored in their order and deleted from the queue', async () => {
  const guildId = newGuild();
  await startWorker();
  for (let first = 1; first <= 250; first += 50) await record(guildId, first, 50);
  await relayedAll(guildId);
  expect((await fixture.list(guildId, '?after=150')).body.data.next_after).toBe(250);
  expect(await gameIds(guildId)).toEqual(upTo(100));
});

test('several processes relay the events of many guilds, each guild in order and each event once', async () => {
  const guilds = Array.from({ length: 150 }, newGuild);
  await Promise.all([startWorker(), startWorker(), startWorker()]);
  for (const part of [1, 6, 11]) {
    for (let start = 0; start < guilds.length; start += 50) {
      await Promise.all(guilds.slice(start, start + 50).map((guildId) => record(guildId, part, 5)));
    }
  }
  await Promise.all(guilds.map(relayedAll));
  for (const guildId of guilds) expect(await gameIds(guildId)).toEqual(upTo(15));
}, 60_000);

describe('events are stored once and in order', () => {
  test('when the response to a call was lost', async () => {
    const guildId = newGuild();
    let lost = 0;
    append = async (request) => {
      await client.appendEvents(request);
      if (lost++ < 3) throw new ApiError('UNAVAILABLE');
    };
    await startWorker();
    await record(guildId, 1, 3);
    await expect.poll(() => lost).toBeGreaterThan(0);
    await record(guildId, 4, 3);
    await expect.poll(async () => (await makeDue(), waitingOf(guildId)), { timeout: 20_000 }).toBe(0);
    expect(lost).toBeGreaterThan(2);
    expect(await gameIds(guildId)).toEqual(upTo(6));
  }, 30_000);

  test('when the process ended between storing and deleting', async () => {
    const guildId = newGuild();
    const ended = Promise.withResolvers<void>();
    const dying: Database = {
      ...database,
      query: (statement, values) => {
        if (typeof statement !== 'string' || !statement.startsWith('DELETE')) return database.query(statement, values);
        ended.resolve();
        return new Promise(() => undefined);
      },
    };
    await record(guildId, 1, 3);
    const worker = await startWorker(dying);
    await ended.promise;
    workers = workers.filter((other) => other !== worker);
    void worker.drain();
    await record(guildId, 4, 3);
    expect(await gameIds(guildId)).toEqual(upTo(3));
    await makeDue();
    await startWorker();
    await relayedAll(guildId);
    expect(await gameIds(guildId)).toEqual(upTo(6));
  });

  test('when the events service is down for a while, and nothing is lost', async () => {
    const guildId = newGuild();
    await fixture.events.stop();
    await startWorker();
    await record(guildId, 1, 3);
    const attempts = 'SELECT FROM lookup.events WHERE guild_id = $1 AND last_error IS NOT NULL';
    await expect.poll(async () => (await database.query(attempts, [guildId])).length, { timeout: 20_000 }).toBe(1);
    await record(guildId, 4, 3);
    expect(await waitingOf(guildId)).toBe(6);
    fixture.events = await fixture.startEvents(ports);
    await relayedAll(guildId);
    expect(await gameIds(guildId)).toEqual(upTo(6));
  }, 60_000);

  test('when the events service is slow and events are recorded meanwhile', async () => {
    const guildId = newGuild();
    append = async (request) => {
      await wait(150);
      await client.appendEvents(request);
    };
    await Promise.all([startWorker(), startWorker()]);
    for (const game of upTo(8)) {
      await record(guildId, game);
      await wait(40);
    }
    await relayedAll(guildId);
    expect(await gameIds(guildId)).toEqual(upTo(8));
  });
});

test('an event that is rejected holds up its own guild only, and the events before it are stored', async () => {
  const [guildId, other] = [newGuild(), newGuild()];
  await record(guildId, 1, 5);
  await database.query(
    'UPDATE lookup.events SET source = source || \'{"kind": "moon"}\' WHERE guild_id = $1 AND number = 3',
    [guildId],
  );
  await record(other, 1, 5);
  await startWorker();
  await relayedAll(other);
  await expect.poll(() => waitingOf(guildId), { timeout: 20_000 }).toBe(3);
  expect(await gameIds(guildId)).toEqual([1, 2]);
  const head = 'SELECT number, last_error AS error FROM lookup.events WHERE guild_id = $1 ORDER BY number LIMIT 1';
  await expect
    .poll(() => database.query(head, [guildId]), { timeout: 20_000 })
    .toEqual([{ number: 3, error: expect.stringContaining('INVALID_REQUEST') }]);
  await database.query('DELETE FROM lookup.events WHERE guild_id = $1', [guildId]);
}, 40_000);

test('data of many short items is relayed, although PostgreSQL writes it with a space after each item', async () => {
  const guildId = newGuild();
  const details = Array.from({ length: 9_000 }, () => 7);
  await database.transaction((transaction) =>
    recorder.record(transaction, [{ guildId, type: 'shield.removed', data: { game_id: 1, details } as never }]),
  );
  await startWorker();
  await relayedAll(guildId);
  const [event] = await fixture.read(guildId);
  expect(event?.data).toEqual({ game_id: 1, details });
}, 30_000);

test('events of the maximum size are relayed, of one guild and of many', async () => {
  const guilds = Array.from({ length: 100 }, newGuild);
  const [guildId = ''] = guilds;
  const reason = 'x'.repeat(18_900);
  const large = (guild: string) => ({
    guildId: guild,
    type: 'shield.removed' as const,
    data: { game_id: 1, reason } as never,
  });
  await database.transaction((transaction) =>
    recorder.record(transaction, [...guilds.map(large), ...Array.from({ length: 150 }, () => large(guildId))]),
  );
  await startWorker();
  await Promise.all(guilds.map(relayedAll));
  expect((await fixture.list(guildId, '?after=150')).body.data.next_after).toBe(151);
}, 60_000);

test.each(['user', 'guild'] as const)(
  'the erasure of a %s is not done while a call with the data is in flight',
  async (what) => {
    const guildId = newGuild();
    const [called, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    append = async (request) => {
      called.resolve();
      await released.promise;
      await client.appendEvents(request);
    };
    await startWorker();
    await record(guildId, 7001, 2);
    await called.promise;
    const log = await createLog({ service: 'test', level: 'silent' });
    const erasure = new Erasure({ database, rules: eventErasureRules('lookup'), log });
    const erase = () =>
      what === 'user' ? erasure.eraseUser(guildId, { game: '7001' }, false) : erasure.eraseGuild(guildId, false);
    expect(await erase()).toMatchObject({ isDone: false });
    expect(await gameIds(guildId)).toEqual([]);
    released.resolve();
    await expect.poll(erase, { timeout: 10_000 }).toEqual({ tables: [], isDone: true });
    // The call is complete, so that the erasure of the events service finds what it has stored.
    expect(await gameIds(guildId)).toEqual([7001, 7002]);
  },
  30_000,
);

test('the age of the oldest event that is not relayed is known', async () => {
  const guildId = newGuild();
  append = () => Promise.reject(new ApiError('UNAVAILABLE'));
  await record(guildId, 1);
  await database.query("UPDATE lookup.events SET queued_at = now() - interval '90 seconds' WHERE guild_id = $1", [
    guildId,
  ]);
  const worker = await startWorker();
  await expect.poll(() => worker.oldestSeconds(EVENTS_QUEUE)).toBeGreaterThan(89);
});
