import { randomInt } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { createTestDatabase, type TestDatabase } from '#test/postgres/database.ts';
import { type Database, openDatabase, type Transaction } from '../postgres/pool.ts';
import { createLog } from '../telemetry/log.ts';
import { Metrics } from '../telemetry/metrics.ts';
import { EventRecorder } from './recorder.ts';
import { withEventSource } from './source.ts';
import { MAX_DATA_BYTES } from './truncate.ts';

const WRITERS = 16;

let testDatabase: TestDatabase;
let database: Database;
const wake = vi.fn<() => void>();
const recorder = new EventRecorder({ schema: 'lookup', wake });
let lastGuild = 910000000000000000n;
const newGuild = () => String(++lastGuild);

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  const log = await createLog({ service: 'test', level: 'silent' });
  database = openDatabase({ url: testDatabase.url, poolMax: WRITERS, name: 'test', metrics: new Metrics(), log });
});
afterAll(async () => {
  await database.close();
  await testDatabase.drop();
});

const added = (guildId: string, gameId = 7001, text = 'x') => ({
  guildId,
  type: 'shield.added' as const,
  data: { game_id: gameId, reason: text } as never,
});
const record = (guildId: string, work?: (transaction: Transaction) => Promise<unknown>) =>
  database.transaction(async (transaction) => {
    await recorder.record(transaction, [added(guildId)]);
    await work?.(transaction);
  });

interface EventRow {
  number: number;
  type: string;
  source: unknown;
  persons: string[];
  data: Record<string, unknown>;
}
const rowsOf = (guildId: string) =>
  database.query<EventRow>('SELECT * FROM lookup.events WHERE guild_id = $1 ORDER BY number', [guildId]);
const numbersOf = async (guildId: string) => (await rowsOf(guildId)).map(({ number }) => number);

test('an event is stored with its data, its persons and the service as its source, and wakes the relay', async () => {
  const guildId = newGuild();
  wake.mockClear();
  await record(guildId);
  expect(await rowsOf(guildId)).toMatchObject([
    {
      number: 1,
      type: 'shield.added',
      source: { kind: 'system', id: 'lookup' },
      persons: ['game:7001'],
      data: { game_id: 7001, reason: 'x' },
    },
  ]);
  expect(wake).toHaveBeenCalledTimes(1);
});

test('the source is that of the current work, unless the event names another', async () => {
  const guildId = newGuild();
  const key = { kind: 'api_key', id: 'service_1_abc' } as const;
  const person = { kind: 'console', id: '920000000000000001' } as const;
  await withEventSource(key, () =>
    database.transaction((transaction) =>
      recorder.record(transaction, [added(guildId), { ...added(guildId), source: person }]),
    ),
  );
  expect((await rowsOf(guildId)).map(({ source }) => source)).toEqual([key, person]);
});

test('a transaction that is rolled back leaves no event and uses no number', async () => {
  const guildId = newGuild();
  await record(guildId);
  wake.mockClear();
  await expect(record(guildId, () => Promise.reject(new Error('no')))).rejects.toThrow('no');
  expect(wake).not.toHaveBeenCalled();
  await record(guildId);
  expect(await numbersOf(guildId)).toEqual([1, 2]);
});

test('numbers have no gaps and become visible in order while many writers commit after random delays', async () => {
  const guildId = newGuild();
  const writers = { areWriting: true };
  const write = async () => {
    for (let time = 0; time < 10; time++) {
      const work = record(guildId, async () => {
        await wait(randomInt(5));
        if (randomInt(5) === 0) throw new Error('rolled back');
      });
      expect(await work.then(() => 'committed', String)).toMatch(/^committed$|rolled back/);
    }
  };
  const watch = async () => {
    while (writers.areWriting) {
      const numbers = await numbersOf(guildId);
      expect(numbers).toEqual(numbers.map((_, index) => index + 1));
    }
  };
  const writing = Promise.all(Array.from({ length: WRITERS - 2 }, write)).finally(() => (writers.areWriting = false));
  await Promise.all([writing, watch()]);
  expect((await numbersOf(guildId)).length).toBeGreaterThan(50);
}, 30_000);

test('transactions with events of the same guilds in opposite orders do not deadlock', async () => {
  const guilds = Array.from({ length: 5 }, newGuild);
  const write = (order: readonly string[]) =>
    database.transaction((transaction) =>
      recorder.record(
        transaction,
        order.map((guildId) => added(guildId)),
      ),
    );
  await Promise.all(Array.from({ length: 30 }, (_, index) => write(index % 2 === 0 ? guilds : guilds.toReversed())));
  for (const guildId of guilds) expect(await numbersOf(guildId)).toEqual(Array.from({ length: 30 }, (_, at) => at + 1));
});

test('several events of one call keep their order in each guild', async () => {
  const [one, other] = [newGuild(), newGuild()];
  await database.transaction((transaction) =>
    recorder.record(transaction, [added(one, 1), added(other, 2), added(one, 3), added(one, 4)]),
  );
  expect((await rowsOf(one)).map(({ number, data }) => [number, data['game_id']])).toEqual([
    [1, 1],
    [2, 3],
    [3, 4],
  ]);
  expect((await rowsOf(other)).map(({ data }) => data['game_id'])).toEqual([2]);
});

test('data above the limit is cut and says so', async () => {
  const guildId = newGuild();
  await database.transaction((transaction) => recorder.record(transaction, [added(guildId, 7001, 'ä'.repeat(30_000))]));
  const [row] = await rowsOf(guildId);
  expect(row?.data).toEqual({ game_id: 7001, reason: 'ä'.repeat(1_000), truncated: true });
  expect(Buffer.byteLength(JSON.stringify(row?.data))).toBeLessThanOrEqual(MAX_DATA_BYTES);
  expect(row?.persons).toEqual(['game:7001']);
});
