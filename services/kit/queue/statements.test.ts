import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { databaseRows } from '#test/postgres/database.ts';
import { costOf, scansOf } from '#test/postgres/explain.ts';
import type { Database, Queryable } from '../postgres/pool.ts';
import { QueueAdminStore } from './admin-store.ts';
import { GUILD, OTHER_GUILD, QueueFixture, RENEWING, TASKS } from './fixture.ts';
import { QueueStore } from './store.ts';

const fixture = new QueueFixture();
beforeAll(async () => {
  await fixture.start();
  // 100,000 tasks of a hundred guilds, of which a tenth is open; one guild has 10,000 of these.
  await databaseRows(
    fixture.testDatabase.url,
    `INSERT INTO fleet.tasks (guild_id, what, state, finished_at)
     SELECT (900000000000000001 + n % 100)::text, 'task', CASE WHEN n % 10 = 0 THEN 'queued' ELSE 'done' END,
       CASE WHEN n % 10 = 0 THEN NULL ELSE now() END
     FROM generate_series(1, 90000) n`,
  );
  await databaseRows(
    fixture.testDatabase.url,
    `INSERT INTO fleet.tasks (guild_id, what) SELECT $1, 'task' FROM generate_series(1, 10000)`,
    [GUILD],
  );
  await fixture.enqueue('single', OTHER_GUILD);
  await databaseRows(fixture.testDatabase.url, 'VACUUM ANALYZE fleet.tasks');
}, 60_000);
afterAll(() => fixture.stop());

const ordered = (on: Queryable) => new QueueStore(on, TASKS);
const renewing = (on: Queryable) => new QueueStore(on, RENEWING.table);
const item = { guildId: GUILD, id: '5', attempts: 1, lease: randomUUID(), data: {} };
const failure = { error: 'E', isPermanent: false, counts: true, delayMs: 1, maxAttempts: 3, maxOutageSeconds: 60 };

/** Both begin with the guild and the ID; the second one has only open items. */
const BY_ID = ['tasks_pkey', 'tasks_queued'];

test.each<[string, (on: Queryable) => Promise<unknown>, string[]]>([
  ['the heads of guilds', (on) => ordered(on).heads('', 100), ['tasks_queued']],
  ['due items of guilds', (on) => renewing(on).due('', 100, 8), ['tasks_due']],
  ['the claim of a head', (on) => ordered(on).take(GUILD, undefined, 5_000), BY_ID],
  ['the claim of an item', (on) => renewing(on).take(GUILD, '5', 5_000), BY_ID],
  ['a renewal', (on) => renewing(on).renew(item, 5_000), BY_ID],
  ['a success', (on) => renewing(on).finish(item), BY_ID],
  ['a failure', (on) => renewing(on).fail(item, failure), BY_ID],
])('on 100,000 rows %s reads through indexes alone', async (_name, statement, indexes) => {
  const scans = await scansOf(fixture.database, statement);
  expect(scans.length).toBeGreaterThan(0);
  expect(scans.filter((scan) => !indexes.includes(scan))).toEqual([]);
});

test('finding due items costs a few pages for each guild, however many items wait', async () => {
  const { pages, discarded } = await costOf(fixture.database, (on) => renewing(on).due('', 100, 8));
  expect(discarded).toBe(0);
  expect(pages).toBeLessThan(100 * 20);
});

test('lists and bulk retries of operators read through indexes alone', async () => {
  const { database } = fixture;
  const admin = (on: Queryable) =>
    new QueueAdminStore(Object.assign(Object.create(database), on) as Database, fixture.definition());
  const dead = await scansOf(database, (on) => admin(on).list({ state: 'dead' }, undefined, 100));
  const retried = await scansOf(database, (on) => admin(on).retryDead(undefined, Date.now(), 100));
  expect([...dead, ...retried].filter((scan) => scan.startsWith('Seq Scan'))).toEqual([]);
});
