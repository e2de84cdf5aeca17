import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Database, Queryable } from '#kit/postgres/pool.ts';
import { createTestDatabase, databaseRows, openTestPool, type TestDatabase } from '#test/postgres/database.ts';
import { costOf, scansOf } from '#test/postgres/explain.ts';
import { listDeliveries } from './deliveries.ts';
import * as endpoints from './endpoints.ts';
import * as parked from './parked.ts';
import { createPartitions } from './partitions.ts';
import * as turns from './turns.ts';

const GUILDS = 4_000;
const guildOf = (n: number) => String(900_000_000_000_000_000n + BigInt(n));
const GUILD = guildOf(2_000);
/** A webhook without an attempt in the last days; the statements must not read those of others. */
const ID = randomUUID();

let testDatabase: TestDatabase;
let database: Database;
beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = await openTestPool(testDatabase.url);
  await createPartitions(database, 'deliveries', 0);
  const run = (text: string, values: unknown[] = []) => databaseRows(testDatabase.url, text, values);
  await run(
    `INSERT INTO events.endpoints (guild_id, key_id, url, types, format, secret, secret_key, cursor_seq, wanted_seq)
     SELECT (900000000000000000 + n % $1)::text, 'key-' || n, 'https://example.com/', '{*}', 'standard', '', '', 5, 5
     FROM generate_series(1, 100000) AS n`,
    [GUILDS],
  );
  await run(
    `INSERT INTO events.parked (guild_id, endpoint_id, seq, event_id, attempts, next_attempt_at)
     SELECT guild_id, id, n, gen_random_uuid(), 1, now() + interval '1 hour'
     FROM events.endpoints, generate_series(1, 5) AS n WHERE guild_id < $1`,
    [guildOf(400)],
  );
  await run(
    `INSERT INTO events.deliveries
       (guild_id, endpoint_id, day, at, event_id, seq, attempt, status, latency_ms, answer)
     SELECT guild_id, id, (now() AT TIME ZONE 'UTC')::date, now(), gen_random_uuid(), 1, 1, 200, 5, ''
     FROM events.endpoints`,
  );
  for (const table of ['endpoints', 'parked', 'deliveries']) await run(`VACUUM ANALYZE events.${table}`);
}, 120_000);
afterAll(async () => {
  await database.close();
  await testDatabase.drop();
});

const NO_GUILDS: string[] = [];
const leased = {
  guildId: GUILD,
  id: ID,
  scopes: null,
  url: '',
  types: [],
  format: 'standard',
  cursorSeq: 1,
  secret: Buffer.alloc(0),
  previousSecret: null,
  lease: randomUUID(),
} as const satisfies turns.LeasedEndpoint;
const attempt = { eventId: randomUUID(), seq: 1, attempt: 1, status: 500, latencyMs: 1, error: null, answer: '' };
const outcome = { attempt, isSuccess: false, isSlow: true, retrySeconds: 5 };

const OF_GUILD = ['endpoints_pkey', 'endpoints_due', 'endpoints_retry'];
const PARKED = ['parked_pkey', 'parked_due'];

describe('on 100,000 endpoints', () => {
  test.each<[string, (on: Queryable) => Promise<unknown>, string[]]>([
    ['the list of a guild', (on) => endpoints.listEndpoints(on, GUILD), OF_GUILD],
    ['one endpoint', (on) => endpoints.findEndpoint(on, GUILD, ID), OF_GUILD],
    ['the endpoints of a revoked key', (on) => endpoints.disableEndpointsOfKeys(on, GUILD, ['key-1']), OF_GUILD],
    [
      'the mark of new events',
      (on) => endpoints.markEndpointsDue(on, [{ guildId: GUILD, newestSeq: 9, types: new Set(['ban.created']) }]),
      [...OF_GUILD, 'Function Scan of undefined'],
    ],
    ['a replay', (on) => endpoints.moveCursor(on, leased, { from: 1, newestSeq: 9 }), [...OF_GUILD, ...PARKED]],
    ['the claim of due endpoints', (on) => turns.claimDue(on, [{ guildId: GUILD, slots: 2 }], false), OF_GUILD],
    [
      'the search for due endpoints',
      (on) => turns.findDueGuilds(on, { isSlow: false, after: GUILD, except: NO_GUILDS, limit: 200 }),
      ['endpoints_due'],
    ],
    [
      'the end of an attempt',
      (on) => turns.settleTurn(on, { endpoint: leased, cursorSeq: 2, outcome, isReleased: true }),
      [...OF_GUILD, ...PARKED],
    ],
    ['the search for retries', (on) => parked.findRetryGuilds(on, NO_GUILDS, 200), ['endpoints_retry']],
    ['the claim of retries', (on) => parked.claimRetries(on, [{ guildId: GUILD, slots: 2 }]), OF_GUILD],
    ['the next parked event', (on) => parked.takeRetry(on, leased), [...OF_GUILD, ...PARKED]],
    [
      'the end of a retry',
      (on) => parked.settleRetry(on, { ...leased, attempts: 1 }, outcome),
      [...OF_GUILD, ...PARKED],
    ],
    ['the end of a turn of retries', (on) => parked.releaseRetries(on, leased), [...OF_GUILD, ...PARKED]],
    ['the search for failing endpoints', (on) => parked.findFailing(on, 60, 100), ['endpoints_failing']],
  ])('%s reads through indexes alone', async (_name, statement, indexes) => {
    const scans = await scansOf(database, statement);
    expect(scans.length).toBeGreaterThan(0);
    expect(scans.filter((scan) => !indexes.includes(scan) && !/^(CTE|Function|Subquery) Scan/.test(scan))).toEqual([]);
  });

  test('a page of attempts reads one webhook only', async () => {
    const scans = await scansOf(database, (on) => listDeliveries(on, GUILD, ID, { after: undefined, limit: 101 }));
    expect(scans.filter((scan) => !/^deliveries_\d{8}_pkey/.test(scan))).toEqual([]);
  });

  test('idle endpoints cost nothing: each search of a poll reads a few pages and discards no row', async () => {
    for (const search of [
      (on: Queryable) => turns.findDueGuilds(on, { isSlow: false, after: '', except: NO_GUILDS, limit: 200 }),
      (on: Queryable) => turns.findDueGuilds(on, { isSlow: true, after: '', except: NO_GUILDS, limit: 200 }),
      (on: Queryable) => parked.findRetryGuilds(on, NO_GUILDS, 200),
      (on: Queryable) => parked.findFailing(on, 60, 100),
    ]) {
      const { pages, discarded } = await costOf(database, search);
      expect(pages).toBeLessThan(5);
      expect(discarded).toBe(0);
    }
  });
});
