import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Database, Queryable } from '#kit/postgres/pool.ts';
import { amount } from '#test/measure/bounds.ts';
import { createTestDatabase, databaseRows, openTestPool, type TestDatabase } from '#test/postgres/database.ts';
import { DatabaseTime } from '#test/postgres/database-time.ts';
import { costOf } from '#test/postgres/explain.ts';
import * as reads from './reads.ts';
import { listUnexpired } from './shield.ts';

const GUILD = '900000000000000001';
const ROWS = amount(200_000, 1_000_000);
const LIMIT = 101;
/** Each row of the result on a page of its own, plus some pages of the index. */
const MAX_PAGES = 2 * LIMIT + 50;

/**
 * Half of all decisions are about this player, and half of those are by this moderator: the worst case of each filter.
 */
const PLAYER = 7;
const MODERATOR = 8;
const PLACE = 3;
/** The player of most bans, who is in none of the other rows. */
const BANNED_PLAYER = 5_000_000;

// Relative to the current time: the clock of the database decides which rows are in force.
const end = new Date();
const hours = (count: number) => new Date(end.getTime() - count * 3600_000);

let testDatabase: TestDatabase;
let database: Database;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  // At this time some of the punishments have expired.
  await (await DatabaseTime.control(testDatabase.url)).stopAt(hours(-8700).getTime());
  database = await openTestPool(testDatabase.url);
  const seed = (text: string, values: unknown[] = []) => databaseRows(testDatabase.url, text, values);
  // Nearly all rows are of places that are not queried, and one action never occurs.
  await seed(
    `INSERT INTO moderation.punishments (guild_id, kind, game_id, place_id, reason, created_at, expires_at, updated_at)
     SELECT $1, 'ban', n, CASE WHEN n % 20000 = 0 THEN 0 WHEN n % 20000 = 1 THEN $2 ELSE 100 + n % 50 END, 'Cheats', at,
       at + interval '1 year', at
     FROM generate_series(1, $3::int) n, LATERAL (SELECT $4::timestamptz - n * interval '1 second' AS at) times`,
    [GUILD, PLACE, ROWS, end],
  );
  // One player has a ban in each of many places.
  await seed(
    `INSERT INTO moderation.punishments (guild_id, kind, game_id, place_id, reason, created_at, expires_at, updated_at)
     SELECT $1, 'ban', $2, CASE WHEN n = 1 THEN 0 WHEN n = 2 THEN $3 ELSE 1000 + n END, 'Cheats', at,
       at + interval '1 year', at
     FROM generate_series(1, 20000) n, LATERAL (SELECT $4::timestamptz - n * interval '50 second' AS at) times`,
    [GUILD, BANNED_PLAYER, PLACE, end],
  );
  await seed(
    `INSERT INTO moderation.log (guild_id, action, punishment_id, game_id, place_id, moderator_game_id, created_at)
     SELECT $1, CASE n % 3 WHEN 0 THEN 'ban' WHEN 1 THEN 'unban' ELSE 'mute' END, n,
       CASE WHEN n % 2 = 0 THEN $2 ELSE n END, 0, CASE WHEN n % 4 < 2 THEN $3 ELSE n END,
       $5::timestamptz - n * interval '1 second'
     FROM generate_series(1, $4::int) n`,
    [GUILD, PLAYER, MODERATOR, ROWS, end],
  );
  await seed(
    `INSERT INTO moderation.shield (guild_id, game_id, reason, category, source, actor, flagged_at, expires_at)
     SELECT $1, n, 'Cheats', 'exploiter', 'api', 'key', $3, 'infinity' FROM generate_series(1, $2::int) n`,
    [GUILD, ROWS, end],
  );
  for (const table of ['punishments', 'log', 'shield']) await seed(`VACUUM ANALYZE moderation.${table}`);
}, 300_000);

afterAll(async () => {
  await database.close();
  await testDatabase.drop();
});

/** Every subset of the given filters. */
function combinations<Filters extends object>(values: Filters): Partial<Filters>[] {
  return Object.entries(values).reduce<Partial<Filters>[]>(
    (found, [name, value]) => found.flatMap((filters) => [filters, { ...filters, [name]: value }]),
    [{}],
  );
}

const logFilters = ['unmute', 'mute'].flatMap((action) =>
  combinations({
    gameId: PLAYER,
    moderatorGameId: MODERATOR,
    action: action as 'mute',
    from: hours(200),
    before: hours(100),
  }),
);
const cases = [
  ...[0, ROWS / 2].map(
    (afterGameId) =>
      [
        `flagged list after player ${afterGameId}`,
        (on: Queryable) => listUnexpired(on, GUILD, { afterGameId, now: end, limit: LIMIT }),
      ] as const,
  ),
  ...logFilters.flatMap((filters) =>
    [undefined, { createdAt: hours(150), id: 5 }, { createdAt: hours(10), id: 5 }].map(
      (after) =>
        [
          `log ${JSON.stringify({ ...filters, after })}`,
          (on: Queryable) => reads.listLog(on, GUILD, filters, { after, limit: LIMIT }),
        ] as const,
    ),
  ),
  ...(['ban', 'mute'] as const).flatMap((kind) =>
    [undefined, PLACE, 99].flatMap((placeId) => [
      ...[hours(50), hours(-9000)].flatMap((expiresAt) =>
        [undefined, BANNED_PLAYER, 77].map(
          (gameId) =>
            [
              `active ${kind}s of place ${placeId} and player ${gameId} after ${expiresAt.toISOString()}`,
              (on: Queryable) =>
                reads.listActive(on, GUILD, { kind, placeId, gameId }, { after: { expiresAt, id: 0 }, limit: LIMIT }),
            ] as const,
        ),
      ),
      [
        `changed ${kind}s of place ${placeId}`,
        (on: Queryable) =>
          reads.listChanged(on, GUILD, { kind, placeId }, { after: { updatedAt: hours(200), id: 0 }, limit: LIMIT }),
      ] as const,
    ]),
  ),
];

test.each(cases)(
  `on ${ROWS} rows of one guild a page of the %s reads hardly more rows than it returns`,
  async (name, statement) => {
    const { pages, discarded } = await costOf(database, statement);
    // A player has at most two rows in force that apply in a place, so that no index needs their order.
    expect(discarded).toBeLessThanOrEqual(/place \d+ and player \d+/.test(name) ? 2 : 0);
    expect(pages).toBeLessThanOrEqual(MAX_PAGES);
  },
);
