import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Database } from '#kit/postgres/pool.ts';
import { createTestDatabase, openTestPool, type TestDatabase } from '#test/postgres/database.ts';
import { costOf } from '#test/postgres/explain.ts';
import { readUnacknowledged } from './command-records.ts';

const SERVERS = 1_000;
const COMMANDS = 200;
const [GUILD, NEIGHBOUR] = ['900000000000000050', '900000000000000051'];
const now = new Date();
const since = new Date(now.getTime() - 15_000);

let testDatabase: TestDatabase;
let database: Database;

/** Inserts commands for `servers` servers that expire in a week, and a delivery to `delivered` servers. */
async function insertShared(
  guildId: string,
  { commands, servers, delivered, isAcked }: { commands: number; servers: number; delivered: number; isAcked: boolean },
): Promise<void> {
  await database.query(
    `WITH sent AS (
       INSERT INTO activity.commands (guild_id, server_id, type, payload, created_at, live_at, expires_at, servers,
         acked_servers)
       SELECT $1, '', 'message', '{}', $2, $2, $2::timestamptz + interval '7 days', $4, CASE WHEN $6 THEN $5 ELSE 0 END
       FROM generate_series(1, $3) RETURNING command_id, expires_at
     )
     INSERT INTO activity.deliveries (guild_id, command_id, server_id, expires_at, attempt, status, acked_at)
     SELECT $1, command_id, 's' || n, expires_at, 1, CASE WHEN $6 THEN 'success' END, CASE WHEN $6 THEN $2 END
     FROM sent, generate_series(1, $5) n`,
    [guildId, now, commands, servers, delivered, isAcked],
  );
}

const read = async () => {
  const counts = await readUnacknowledged(database, since, now);
  return Object.fromEntries(counts.map(({ state, count }) => [state, count]));
};
const pages = async () => (await costOf(database, (on) => readUnacknowledged(on, since, now))).pages;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = await openTestPool(testDatabase.url);
});
afterAll(async () => {
  await database.close();
  await testDatabase.drop();
});

test('counting reads no deliveries of commands that all servers have acknowledged, and a limited number of others', async () => {
  // In parts, because of the timeout of statements.
  for (let part = 0; part < 10; part++) {
    const commands = COMMANDS / 10;
    await insertShared(GUILD, { commands, servers: SERVERS, delivered: SERVERS, isAcked: true });
  }
  await insertShared(NEIGHBOUR, { commands: 1, servers: 5, delivered: 2, isAcked: false });
  await database.query('ANALYZE activity.commands, activity.deliveries');
  expect(await read()).toEqual({ waiting: 3, handed_over: 2 });
  expect(await pages()).toBeLessThan(200);

  for (let part = 0; part < 10; part++) {
    const commands = COMMANDS / 10;
    await insertShared(GUILD, { commands, servers: SERVERS, delivered: SERVERS, isAcked: false });
  }
  await database.query('ANALYZE activity.commands, activity.deliveries');
  const { waiting = 0, handed_over: handedOver = 0 } = await read();
  expect(waiting + handedOver).toBe(COMMANDS * SERVERS + 5);
  // The neighbour's two, and those of the guild's first commands.
  expect(handedOver).toBe(49 * SERVERS + 2);
  expect(await pages()).toBeLessThan(5_000);
});
