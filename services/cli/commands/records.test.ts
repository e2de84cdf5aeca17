import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RunningService, startService } from '#kit/service/service.ts';
import { bindingsService } from '#services/bindings/service.ts';
import { lookupService } from '#services/lookup/service.ts';
import { moderationService } from '#services/moderation/service.ts';
import { createTestDatabase, databaseRows, type TestDatabase } from '#test/postgres/database.ts';
import { startAuthForOperators, type TestAuth } from '#test/system/auth.ts';
import { TEST_ADMIN_SECRETS, testEnvironment } from '#test/system/signed-calls.ts';
import { guildctlJson, runGuildctl } from '../fixtures/guildctl.ts';

const GUILD = '900000000000000001';
const CHAT = '920000000000000001';
const [ADMIN_SECRET = ''] = TEST_ADMIN_SECRETS;
const CREATED = 1_790_000_000;

let database: TestDatabase;
let auth: TestAuth;
let services: Record<'bindings' | 'lookup' | 'moderation', RunningService>;

beforeAll(async () => {
  database = await createTestDatabase();
  const environment = {
    ...testEnvironment(database.url),
    ACTIVITY_GRPC_ADDRESS: '127.0.0.1:1',
    LOOKUP_GRPC_ADDRESS: '127.0.0.1:1',
    CHAT_API_URL: 'http://127.0.0.1:1',
    CHAT_BOT_TOKEN: 'unused',
  };
  services = {
    bindings: await startService(bindingsService, environment),
    lookup: await startService(lookupService, environment),
    moderation: await startService(moderationService, environment),
  };
  auth = await startAuthForOperators(database.url);
  const seed = (text: string, values: unknown[]) => databaseRows(database.url, text, [GUILD, ...values]);
  await seed(
    `INSERT INTO bindings.bindings (guild_id, id, chat_role_id, type, game_group_id, min_rank, max_rank, created_at, updated_at)
     VALUES ($1, 1, '910000000000000001', 'group_rank', 501, 50, 255, now(), now())`,
    [],
  );
  await seed(
    `INSERT INTO lookup.links (guild_id, chat_id, game_id, game_username, version, linked_at, updated_at)
     VALUES ($1, $2, 7001, 'Ada', 5, to_timestamp($3), to_timestamp($3))`,
    [CHAT, CREATED],
  );
  await seed(
    `INSERT INTO lookup.link_history (guild_id, id, operation_id, action, chat_id, game_id, game_username, version, created_at)
     VALUES ($1, 5, gen_random_uuid(), 'linked', $2, 7001, 'Ada', 5, to_timestamp($3))`,
    [CHAT, CREATED],
  );
  await seed(
    `INSERT INTO moderation.punishments (guild_id, id, kind, game_id, place_id, reason, created_at, expires_at, updated_at)
     VALUES ($1, 1, 'ban', 7001, 4001, 'Cheats', to_timestamp($2), 'infinity', now())`,
    [CREATED],
  );
  await seed(
    `INSERT INTO moderation.log (guild_id, id, action, punishment_id, game_id, place_id, reason, created_at)
     VALUES ($1, 2, 'ban', 1, 7001, 4001, 'Cheats', to_timestamp($2))`,
    [CREATED],
  );
});
afterAll(async () => {
  await auth.stop();
  await Promise.all(Object.values(services).map((service) => service.stop()));
  await database.drop();
});

function environment() {
  const addresses = Object.entries(services).map(([name, { addresses }]) => [
    `GUILDCTL_${name.toUpperCase()}`,
    addresses.grpc,
  ]);
  return { ...Object.fromEntries(addresses), GUILDCTL_AUTH: auth.address, ADMIN_SECRETS: ADMIN_SECRET };
}
const run = (...words: string[]) => runGuildctl([...words, '--guild', GUILD], environment());
const json = (...words: string[]) => guildctlJson<unknown>([...words, '--guild', GUILD], environment());

test.each([
  ['--chat-id', CHAT],
  ['--game-id', '7001'],
])('links show %s prints the link and the history of the account', async (option, id) => {
  const link = { chat_id: CHAT, game_id: 7001, game_username: 'Ada' };
  expect(await json('links', 'show', option, id)).toEqual({
    link,
    history: [{ action: 'linked', ...link, created_at: CREATED }],
  });
  expect((await run('links', 'show', option, id)).out).toMatch(/^920000000000000001 is linked to 7001 \(Ada\)\.\n\nAT/);
});

test('links show prints null and an empty history for an account that was never linked', async () => {
  expect(await json('links', 'show', '--game-id', '5')).toEqual({ link: null, history: [] });
  expect((await run('links', 'show', '--game-id', '5')).out).toBe('The account is not linked.\n');
});

test('bans show prints the active bans and mutes of all places, and the log', async () => {
  const decision = {
    reason: 'Cheats',
    moderator_game_id: null,
    moderator_chat_id: null,
    place_id: 4001,
    created_at: CREATED,
    expires_at: null,
  };
  expect(await json('bans', 'show', '--game-id', '7001')).toEqual({
    bans: [{ id: 1, game_id: 7001, game_username: null, ...decision, source_server_id: null }],
    mutes: [],
    log: [{ id: 2, action: 'ban', ...decision }],
  });
  expect((await run('bans', 'show', '--game-id', '7001')).out).toMatch(
    /^Active bans and mutes:\n\nKIND[^]*\n\nACTION[^]*4001/,
  );
  expect((await run('bans', 'show', '--game-id', '5')).out).toBe('The player has no active ban or mute.\n');
});

test('bindings show prints all bindings or one, and fails for an unknown one', async () => {
  const binding = {
    id: 1,
    chat_role_id: '910000000000000001',
    priority: null,
    binding_type: 'group_rank',
    game_group_id: 501,
    min_rank: 50,
    max_rank: 255,
  };
  expect(await json('bindings', 'show')).toEqual({ bindings: [binding] });
  expect(await json('bindings', 'show', '1')).toEqual({ bindings: [binding] });
  expect((await run('bindings', 'show')).out).toContain('group_rank: game group id 501, min rank 50, max rank 255');
  expect(await run('bindings', 'show', '2')).toMatchObject({
    status: 1,
    error: expect.stringContaining('No such binding'),
  });
  expect(await run('bindings', 'show', 'x')).toMatchObject({ status: 1, error: expect.stringContaining('BINDING_ID') });
});
