import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createLog } from '#kit/log.ts';
import { Metrics } from '#kit/metrics.ts';
import { type Database, openDatabase, type Queryable } from '#kit/postgres.ts';
import { createTestDatabase, type TestDatabase } from '#test/database.ts';
import * as store from './store.ts';

const GUILD = '900000000000000001';
const CHAT = '920000000000000500';

let testDatabase: TestDatabase;
let database: Database;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  const log = await createLog({ service: 'test', level: 'silent' });
  database = openDatabase({ url: testDatabase.url, poolMax: 1, name: 'test', metrics: new Metrics(), log });
  // 100,000 links in three guilds, one of which has nearly all.
  await database.query(
    `INSERT INTO lookup.links (guild_id, chat_id, game_id, game_username, version, linked_at, updated_at)
     SELECT CASE WHEN n % 100 > 1 THEN '900000000000000001' ELSE '90000000000000000' || (n % 100 + 2) END,
       (920000000000000000 + n)::text, n, 'User' || n, n, now(), now() - n * interval '1 second'
     FROM generate_series(1, 100000) n`,
  );
  await database.query(
    `INSERT INTO lookup.link_history
       (guild_id, id, operation_id, action, chat_id, game_id, game_username, version, created_at)
     SELECT guild_id, version, gen_random_uuid(), 'linked', chat_id, game_id, game_username, version, linked_at
     FROM lookup.links`,
  );
  await database.query(
    `INSERT INTO lookup.operations SELECT guild_id, operation_id, created_at FROM lookup.link_history`,
  );
  for (const table of ['links', 'link_history', 'operations']) await database.query(`ANALYZE lookup.${table}`);
});

afterAll(async () => {
  await database.close();
  await testDatabase.drop();
});

interface Plan {
  'Node Type': string;
  'Relation Name'?: string;
  'Index Name'?: string;
  Plans?: Plan[];
}

/** A bitmap heap scan only fetches what the bitmap index scan below it found. */
const READS_A_TABLE = /^(Seq|Index|Index Only|Bitmap Index|Tid|Sample) Scan$/;

/** What a statement does to the tables, as `index` or `how it reads table`. */
async function scansOf(statement: (on: Queryable) => Promise<unknown>): Promise<string[]> {
  const plans: Plan[] = [];
  await statement({
    query: async (text, values) => {
      const rows = await database.query<{ 'QUERY PLAN': { Plan: Plan }[] }>(`EXPLAIN (FORMAT JSON) ${text}`, values);
      plans.push(...rows.flatMap((row) => row['QUERY PLAN'].map(({ Plan }) => Plan)));
      return [];
    },
  });
  const all = (plan: Plan): Plan[] => [plan, ...(plan.Plans ?? []).flatMap(all)];
  return plans
    .flatMap(all)
    .filter((plan) => READS_A_TABLE.test(plan['Node Type']))
    .map((plan) => plan['Index Name'] ?? `${plan['Node Type']} of ${plan['Relation Name']}`);
}

const page = Array.from({ length: 25 }, (_, index) => index + 1);
const link = { chatId: CHAT, gameId: 500, gameUsername: 'User' };
const now = new Date();

test.each<[string, (on: Queryable) => Promise<unknown>, string[]]>([
  ['findLinks', (on) => store.findLinks(on, GUILD, { gameIds: page }), ['links_chat', 'links_game']],
  ['listLinks', (on) => store.listLinks(on, GUILD, { updatedAt: 1, chatId: CHAT }, 100), ['links_updated']],
  ['listChanges', (on) => store.listChanges(on, GUILD, CHAT, 100), ['link_history_chat', 'links_chat']],
  ['insertLink', (on) => store.insertLink(on, GUILD, randomUUID(), now, link), []],
  ['deleteLink by chat', (on) => store.deleteLink(on, GUILD, randomUUID(), now, { chatId: CHAT }), ['links_chat']],
  ['deleteLink by game', (on) => store.deleteLink(on, GUILD, randomUUID(), now, { gameId: 5 }), ['links_game']],
  ['findOutcome', (on) => store.findOutcome(on, GUILD, randomUUID(), 'linked'), ['link_history_operation']],
])('on 100,000 links %s reads through its index alone', async (_name, statement, indexes) => {
  expect(await scansOf(statement)).toEqual(indexes);
});
