import { afterAll, beforeAll, expect, test } from 'vitest';
import { ManualClock } from '#kit/clock.ts';
import { createTestDatabase, databaseRows, type TestDatabase } from '#test/postgres/database.ts';
import { createKey, startTestAuth, type TestAuth } from '#test/system/auth.ts';
import { MAX_PERSON_CHANGES } from './domain/audit/daily-limit.ts';
import { callerOf, connectConsole, newGuild, type TestConsole } from './fixtures/console.ts';

const HOUR_MS = 3_600_000;
const CHAT_ID = '920000000000000001';
// The limit is counted from midnight (UTC): 18 hours later the day ends.
const clock = new ManualClock(Date.UTC(2026, 0, 1, 6));
let database: TestDatabase;
let auth: TestAuth;
let person: TestConsole;

beforeAll(async () => {
  database = await createTestDatabase();
  auth = await startTestAuth({ databaseUrl: database.url, clock });
  person = connectConsole(auth, clock);
});
afterAll(async () => {
  person.close();
  await auth.stop();
  await database.drop();
});

const rows = <Row extends object>(sql: string) => databaseRows<Row>(database.url, sql);
const setCount = (guildId: string, count: number) =>
  rows(
    `UPDATE auth.guilds SET person_changes_on = '2026-01-01', person_changes = ${count} WHERE guild_id = '${guildId}'`,
  );

/** Creates a key of a guild, and returns what changes it as a person. */
async function guildWithKey() {
  const guildId = newGuild();
  const { key } = await createKey(auth, { guildId, name: 'Servers' });
  const caller = callerOf(await person.signIn(guildId, 'admin'));
  const keyId = key.id;
  const rename = (name: string) => person.client.updateGuildKey({ caller, key: { keyId, name, actor: '' } });
  return { guildId, caller, keyId, rename };
}

/** How much was written about the keys and roles of a guild. */
async function written(guildId: string) {
  const count = (table: string) => `(SELECT count(*)::int FROM auth.${table} WHERE guild_id = '${guildId}')`;
  const [found] = await rows(
    `SELECT ${count('audit')} AS entries, ${count('events')} AS events, k.version::int
     FROM auth.keys k WHERE k.guild_id = '${guildId}'`,
  );
  return found;
}

test('an update of a key or a role that changes nothing writes no audit entry and no event, and returns the same', async () => {
  const { guildId, caller, keyId, rename } = await guildWithKey();
  const { key } = await rename('Lobby');
  const { access } = await person.client.setAccess({ caller, guildId, chatId: CHAT_ID, role: 'viewer' });
  const before = await written(guildId);
  expect(before).toMatchObject({ events: 2, version: 2 });
  expect((await rename('Lobby')).key).toEqual(key);
  const same = { name: 'Lobby', scopes: { values: ['lookup:read'] }, rateLimit: 0, expiresAt: 0 };
  expect((await auth.admin.updateKey({ keyId, ...same, actor: 'ada' })).key).toEqual(key);
  expect((await person.client.setAccess({ caller, guildId, chatId: CHAT_ID, role: 'viewer' })).access).toEqual(access);
  expect(await written(guildId)).toEqual(before);
});

test('of concurrent changes by persons only those up to the daily limit of the guild are made, until the next day', async () => {
  const { guildId, rename } = await guildWithKey();
  const other = await guildWithKey();
  await setCount(guildId, MAX_PERSON_CHANGES - 2);
  const results = await Promise.allSettled(['a', 'b', 'c', 'd', 'e'].map(rename));
  expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(2);
  expect(await written(guildId)).toMatchObject({ version: 3 });
  await expect(rename('f')).rejects.toMatchObject({ code: 'CONFLICT', retryAfter: (18 * HOUR_MS) / 1000 });
  await other.rename('another guild');
  clock.advance(18 * HOUR_MS);
  const tomorrow = person.client.updateGuildKey({
    caller: callerOf(await person.signIn(guildId, 'admin')),
    key: { keyId: `${guildId}-1`, name: 'tomorrow', actor: '' },
  });
  await expect(tomorrow).resolves.toMatchObject({ key: { name: 'tomorrow' } });
  clock.advance(-18 * HOUR_MS);
});

test('above the daily limit persons make no change, export and erasure, but can take access away', async () => {
  const { guildId, caller, keyId } = await guildWithKey();
  const { client } = person;
  await client.setAccess({ caller, guildId, chatId: CHAT_ID, role: 'viewer' });
  await setCount(guildId, MAX_PERSON_CHANGES);
  const key = { guildId, name: '', legacy: false, scopes: ['lookup:read'], ipAllowlist: [], actor: '' };
  const somebody = { caller, guildId, chatId: '920000000000000002', gameId: 5 };
  const rejected = [
    () => client.createGuildKey({ caller, key }),
    () => client.rotateGuildKey({ caller, key: { keyId, graceSeconds: 0, actor: '' } }),
    () => client.setAccess({ caller, guildId, chatId: CHAT_ID, role: 'moderator' }),
    () => client.exportPerson({ ...somebody, cursor: '' }),
    () => client.erasePerson({ ...somebody, dryRun: false }),
  ];
  for (const call of rejected) await expect(call()).rejects.toMatchObject({ code: 'CONFLICT' });
  await client.removeAccess({ caller, guildId, chatId: CHAT_ID });
  await client.revokeGuildKey({ caller, key: { keyId, actor: '' } });
});

test('operators are not limited', async () => {
  const { guildId, keyId } = await guildWithKey();
  await setCount(guildId, MAX_PERSON_CHANGES);
  await auth.admin.updateKey({ keyId, name: 'by an operator', actor: 'ada' });
  await auth.admin.rotateKey({ keyId, graceSeconds: 0, actor: 'ada' });
  await auth.admin.recordErasure({ guildId, what: 'user', state: 'begun', removed: [], actor: '' });
  expect(await rows(`SELECT person_changes FROM auth.guilds WHERE guild_id = '${guildId}'`)).toEqual([
    { person_changes: MAX_PERSON_CHANGES },
  ]);
});
