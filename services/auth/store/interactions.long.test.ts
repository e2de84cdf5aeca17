// Guarantee: the statements about slash commands find their rows by an index, among a million commands of a day.
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Database, Queryable } from '#kit/postgres/pool.ts';
import { QueueStore } from '#kit/queue/store.ts';
import { amount } from '#test/measure/bounds.ts';
import { createTestDatabase, databaseRows, openTestPool, type TestDatabase } from '#test/postgres/database.ts';
import { scansOf } from '#test/postgres/explain.ts';
import { emptyInteraction, INTERACTIONS, insertInteraction } from './interactions.ts';

const ROWS = amount(100_000, 1_000_000);
const GUILDS = 10_000;
const GUILD = '900000000000000050';
const ID = '940000000000000050';

let testDatabase: TestDatabase;
let database: Database;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = await openTestPool(testDatabase.url);
  const seed = (text: string) => databaseRows(testDatabase.url, text);
  await seed(
    `INSERT INTO auth.guilds (guild_id, next_number)
     SELECT (900000000000000000 + n)::text, 1 FROM generate_series(1, ${GUILDS}) n`,
  );
  // One in a hundred is not handled yet.
  await seed(
    `INSERT INTO auth.interactions (guild_id, id, chat_id, command, application_id, permissions, options, state, finished_at)
     SELECT (900000000000000000 + n % ${GUILDS})::text, (940000000000000000 + n)::text, n::text, 'verify', '1', '0', '{}',
       CASE WHEN n % 100 = 0 THEN 'queued' ELSE 'done' END, CASE WHEN n % 100 > 0 THEN now() END
     FROM generate_series(1, ${ROWS}) n`,
  );
  for (const table of ['guilds', 'interactions']) await seed(`VACUUM ANALYZE auth.${table}`);
}, 600_000);
afterAll(async () => {
  await database.close();
  await testDatabase.drop();
});

const item = { guildId: GUILD, id: ID, attempts: 1, lease: randomUUID(), data: {} };
const interaction = {
  guildId: GUILD,
  id: ID,
  chatId: '1',
  command: 'verify',
  applicationId: '1',
  token: Buffer.alloc(0),
  permissions: '0',
  options: {},
};
const queue = (on: Queryable) => new QueueStore(on, INTERACTIONS);

/** The indexes of the commands of a guild: by ID, and of those that are not handled. Both find a command of a guild. */
const OF_GUILD = /^interactions_(?:pkey|queued)$/;

const statements: [string, (on: Queryable) => Promise<unknown>, string[]][] = [
  ['insertInteraction', (on) => insertInteraction(on, interaction), ['guilds_pkey']],
  ['emptyInteraction', (on) => emptyInteraction(on, item), ['interactions_pkey']],
  ['due commands', (on) => queue(on).due('', 100, 2), Array(3).fill('interactions_queued')],
  ['take of a command', (on) => queue(on).take(GUILD, ID, 1), [expect.stringMatching(OF_GUILD)]],
  ['renewal of a lease', (on) => queue(on).renew(item, 1), [expect.stringMatching(OF_GUILD)]],
  [
    'retention',
    (on) =>
      on.query('SELECT ctid FROM auth.interactions WHERE queued_at < $1 LIMIT 1000 FOR UPDATE SKIP LOCKED', [
        new Date(0),
      ]),
    ['interactions_queued_at'],
  ],
];

test.each(statements)('%s finds its rows by an index', async (_name, statement, indexes) => {
  expect((await scansOf(database, statement)).toSorted()).toEqual(indexes.toSorted());
});

test('the statistics of the queue use only its indexes', async () => {
  const scans = await scansOf(database, (on) => queue(on).stats());
  expect(scans).toHaveLength(3);
  expect(scans.filter((scan) => !scan.startsWith('interactions_'))).toEqual([]);
});
