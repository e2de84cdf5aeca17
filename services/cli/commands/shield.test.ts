import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RunningService, startService } from '#kit/service/service.ts';
import { moderationService } from '#services/moderation/service.ts';
import { createTestDatabase, type TestDatabase } from '#test/postgres/database.ts';
import { startAuthForOperators, type TestAuth } from '#test/system/auth.ts';
import { TEST_ADMIN_SECRETS, testEnvironment } from '#test/system/signed-calls.ts';
import { guildctlJson, runGuildctl } from '../fixtures/guildctl.ts';

const GUILD = '900000000000000001';
const [ADMIN_SECRET = ''] = TEST_ADMIN_SECRETS;

let database: TestDatabase;
let moderation: RunningService;
let auth: TestAuth;

beforeAll(async () => {
  database = await createTestDatabase();
  const environment = { ...testEnvironment(database.url), ACTIVITY_GRPC_ADDRESS: '127.0.0.1:1' };
  moderation = await startService(moderationService, environment);
  auth = await startAuthForOperators(database.url);
});
afterAll(async () => {
  await moderation.stop();
  await auth.stop();
  await database.drop();
});

const environment = () => ({
  GUILDCTL_AUTH: auth.address,
  GUILDCTL_MODERATION: moderation.addresses.grpc,
  ADMIN_SECRETS: ADMIN_SECRET,
});
const run = (...words: string[]) => runGuildctl(words, environment());
const json = (...words: string[]) => guildctlJson<Record<string, unknown>>(words, environment());

test('shield add, list and remove print the documented output', async () => {
  expect(await json('shield', 'list')).toEqual({ entries: [], next_cursor: null });
  const settings = ['--reason', 'Verkauft Gegenstände', '--category', 'scammer'];
  const common = await json('shield', 'add', '--game-id', '7001', ...settings);
  expect(common).toEqual({
    guild_id: null,
    game_id: 7001,
    game_username: null,
    reason: 'Verkauft Gegenstände',
    category: 'scammer',
    source: 'operator',
    flagged_at: expect.any(Number),
    expires_at: null,
    actor: 'root',
  });
  const more = ['--source', 'partners', '--game-username', 'Ada', '--expires-at', '4102444800', '--actor', 'ben'];
  const own = await json('shield', 'add', '--guild', GUILD, '--game-id', '7001', ...settings, ...more);
  expect(own).toMatchObject({ guild_id: GUILD, source: 'partners', game_username: 'Ada', actor: 'root' });
  expect(own['expires_at']).toBe(4102444800);
  expect(await json('shield', 'list')).toEqual({ entries: [common], next_cursor: null });
  expect(await json('shield', 'list', '--guild', GUILD)).toEqual({ entries: [own], next_cursor: null });
  expect(await json('shield', 'list', '--guild', GUILD, '--cursor', '7001')).toEqual({
    entries: [],
    next_cursor: null,
  });
  expect(await json('shield', 'remove', '--guild', GUILD, '--game-id', '7001')).toEqual(own);
  expect(await json('shield', 'list', '--guild', GUILD)).toEqual({ entries: [], next_cursor: null });
});

test('shield list prints one page, or all pages', async () => {
  for (const id of ['11', '12', '13']) {
    await json('shield', 'add', '--guild', GUILD, '--game-id', id, '--reason', 'R', '--category', 'c');
  }
  const list = (...words: string[]) => json('shield', 'list', '--guild', GUILD, ...words);
  expect(await list('--limit', '2')).toMatchObject({ entries: [{ game_id: 11 }, { game_id: 12 }], next_cursor: '12' });
  expect(await list('--limit', '2', '--cursor', '12')).toMatchObject({ entries: [{ game_id: 13 }], next_cursor: null });
  expect((await list('--all'))['entries']).toHaveLength(3);
  for (const id of ['11', '12', '13']) await json('shield', 'remove', '--guild', GUILD, '--game-id', id);
});

test('text output is aligned', async () => {
  const added = await run('shield', 'add', '--game-id', '5', '--reason', 'Two\nlines', '--category', 'exploiter');
  expect(added.out).toMatch(/^Player +5\nName +-\nApplies to +all guilds\nCategory +exploiter\n/);
  const listed = await run('shield', 'list');
  expect(listed.out).toMatch(
    /^PLAYER +NAME +CATEGORY +SOURCE +FLAGGED +EXPIRES +BY +REASON\n5 +- +exploiter +operator /,
  );
  expect(listed.out).toContain('"Two\\nlines"');
  expect((await run('shield', 'list', '--guild', GUILD)).out).toBe('The list is empty.\n');
});

test.each([
  [['add'], '--game-id is required'],
  [['add', '--game-id', 'x', '--reason', 'R', '--category', 'c'], '--game-id must be a whole number'],
  [['add', '--game-id', '5', '--category', 'c'], '--reason is required'],
  [['add', '--game-id', '5', '--reason', 'R'], '--category is required'],
  [['add', '--game-id', '5', '--reason', 'R', '--category', 'c', '--guild', '5'], '--guild must be a guild ID'],
  [
    ['add', '--game-id', '5', '--reason', 'R', '--category', 'c', '--expires-at', '1000'],
    '--expires-at must be Unix seconds in the future',
  ],
  [['add', '--game-id', '5', '--reason', 'a\u0007', '--category', 'c'], '--reason must not hold control'],
  [['remove', '--game-id', '99'], 'The player is not on this list'],
  [['remove'], '--game-id is required'],
  [['list', '--cursor', 'x'], '--cursor must be a whole number'],
])('shield %j fails, and prints the fault to standard error only', async (words, message) => {
  const { status, out, error } = await run('shield', ...words, '--json');
  expect({ status, out }).toEqual({ status: 1, out: '' });
  expect(error).toContain(message);
});
