import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { BindingsFixture, BOOSTER, bindingsWorld, faultsOf, HARBORMASTER, OFFICER, rankBinding } from './fixture.ts';

const fixture = new BindingsFixture();
beforeAll(() => fixture.start());
afterAll(() => fixture.stop());
beforeEach(() => void fixture.nextGuild());
afterEach(() => fixture.calm());

const nothing = {
  game_group_id: null,
  game_group_name: null,
  min_rank: null,
  max_rank: null,
  gamepass_id: null,
  asset_id: null,
  badge_id: null,
  account_age_platform: null,
  account_age_min_days: null,
  priority: null,
};
const role = { chat_role_id: OFFICER, chat_role_name: 'Officer' };
const add = (fields: object) => fixture.add({ chat_role_id: OFFICER, ...fields });

describe('a binding is added and returned as in the list', () => {
  test.each([
    [
      'group_rank',
      { game_group_id: 501, min_rank: 50, max_rank: 255, priority: 10 },
      { game_group_id: 501, game_group_name: 'Harbor Crew', min_rank: 50, max_rank: 255, priority: 10 },
    ],
    [
      'group_rank',
      { game_group_id: '502', min_rank: 0, max_rank: 0 },
      { game_group_id: 502, game_group_name: 'Lighthouse Builders', min_rank: 0, max_rank: 0 },
    ],
    ['gamepass', { game_gamepass_id: 601 }, { gamepass_id: 601 }],
    ['asset', { game_asset_id: 701, priority: -1 }, { asset_id: 701, priority: -1 }],
    ['badge', { game_badge_id: 801 }, { badge_id: 801 }],
    [
      'account_age',
      { account_age_platform: 'chat', account_age_min_days: 30 },
      { account_age_platform: 'chat', account_age_min_days: 30 },
    ],
    [
      'account_age',
      { account_age_platform: 'game', account_age_min_days: 0 },
      { account_age_platform: 'game', account_age_min_days: 0 },
    ],
  ])('%s %j', async (type, fields, shown) => {
    const response = await add({ binding_type: type, ...fields });
    expect(response.status).toBe(201);
    const data = { id: expect.any(Number), ...role, binding_type: type, ...nothing, ...shown };
    expect(response.body).toEqual({ status: 'success', code: 201, message: 'Binding added', data });
    expect((await fixture.list()).body.data).toEqual({ bindings: [response.body.data] });
  });

  test('fields of other types, unknown fields and null are ignored', async () => {
    const other = { game_group_id: 999, min_rank: 9, max_rank: 1, game_badge_id: 1, account_age_min_days: 3 };
    const more = { account_age_platform: null, extra: [] };
    const response = await add({ binding_type: 'gamepass', game_gamepass_id: 601, ...other, ...more });
    expect(response.body.data).toEqual({
      id: expect.any(Number),
      ...role,
      binding_type: 'gamepass',
      ...nothing,
      gamepass_id: 601,
    });
    expect((await add({ binding_type: 'gamepass', game_gamepass_id: 601 })).status).toBe(409);
  });
});

describe('an invalid body', () => {
  test.each([
    ['no fields', {}, ['body.chat_role_id', 'body.binding_type']],
    ['an unknown type', { chat_role_id: OFFICER, binding_type: 'rank' }, ['body.binding_type']],
    [
      'a group_rank without other fields',
      { binding_type: 'group_rank' },
      ['chat_role_id', 'game_group_id', 'min_rank', 'max_rank'].map((name) => `body.${name}`),
    ],
    [
      'a gamepass without other fields',
      { chat_role_id: OFFICER, binding_type: 'gamepass', game_asset_id: 701 },
      ['body.game_gamepass_id'],
    ],
    ['an asset without other fields', { chat_role_id: OFFICER, binding_type: 'asset' }, ['body.game_asset_id']],
    [
      'a badge that is null',
      { chat_role_id: OFFICER, binding_type: 'badge', game_badge_id: null },
      ['body.game_badge_id'],
    ],
    [
      'an account_age without other fields',
      { chat_role_id: OFFICER, binding_type: 'account_age' },
      ['body.account_age_platform', 'body.account_age_min_days'],
    ],
    [
      'an account_age of another platform',
      { chat_role_id: OFFICER, binding_type: 'account_age', account_age_platform: 'roblox', account_age_min_days: -1 },
      ['body.account_age_platform', 'body.account_age_min_days'],
    ],
    ['max_rank below min_rank', rankBinding({ min_rank: 51, max_rank: 50 }), ['body.max_rank']],
    ['ranks outside 0 to 255', rankBinding({ min_rank: -1, max_rank: 256 }), ['body.min_rank', 'body.max_rank']],
    ['ranks that are not integers', rankBinding({ min_rank: 1.5, max_rank: '50' }), ['body.min_rank', 'body.max_rank']],
    ['an invalid group ID', rankBinding({ game_group_id: 0 }), ['body.game_group_id']],
    ['a role that is a number', rankBinding({ chat_role_id: 9.1e17 }), ['body.chat_role_id']],
    ['a priority that is not an integer', rankBinding({ priority: 1.5 }), ['body.priority']],
    ['a priority beyond 32 bits', rankBinding({ priority: 2 ** 31 }), ['body.priority']],
  ])('with %s lists every fault in one response, and no platform is called', async (_what, fields, faults) => {
    const response = await fixture.call('POST', '/bindings/add', { guild_id: fixture.guild, ...fields });
    expect(response).toMatchObject({ status: 400, body: { details: { code: 'INVALID_REQUEST' } } });
    expect(faultsOf(response)).toEqual(faults);
    expect([await fixture.game.calls(), await fixture.chat.calls()]).toEqual([{}, {}]);
  });

  test('without guild_id, or with that of another guild, is rejected', async () => {
    const without = await fixture.call('POST', '/bindings/add', rankBinding());
    expect(faultsOf(without)).toEqual(['body.guild_id']);
    const other = await fixture.call('POST', '/bindings/add', rankBinding({ guild_id: '900000000000000999' }));
    expect(other).toMatchObject({ status: 403, body: { details: { code: 'GUILD_MISMATCH' } } });
  });
});

describe('target and role of a binding are checked before it is saved', () => {
  test.each([
    ['group', { binding_type: 'group_rank', game_group_id: 599, min_rank: 1, max_rank: 2 }, 599],
    ['gamepass', { binding_type: 'gamepass', game_gamepass_id: 699 }, 699],
    ['asset', { binding_type: 'asset', game_asset_id: 799 }, 799],
    ['badge', { binding_type: 'badge', game_badge_id: 899 }, 899],
  ])('a %s that does not exist on the game platform is an INVALID_TARGET', async (kind, fields, id) => {
    const response = await add(fields);
    expect(response.status).toBe(400);
    expect(response.body).toEqual({
      status: 'error',
      code: 400,
      message: `The game platform has no ${kind} ${id}`,
      details: {
        code: 'INVALID_TARGET',
        errors: [{ path: `body.game_${kind}_id`, message: `is no ${kind} of the game platform` }],
      },
    });
    expect(await fixture.stored()).toBe(0);
  });

  test.each([
    ['is not in the guild', '910000000000000777', 400, 'INVALID_REQUEST', 'body.chat_role_id is no role of the guild'],
    ['belongs to an integration', BOOSTER, 422, 'NOT_APPLICABLE', 'The role Server Booster belongs to an integration'],
    [
      'is above the bot',
      HARBORMASTER,
      422,
      'NOT_APPLICABLE',
      "The role Harbormaster is not below the bot's highest role",
    ],
  ])('a role that %s is rejected', async (_what, chatRoleId, status, code, message) => {
    const response = await fixture.add(rankBinding({ chat_role_id: chatRoleId }));
    expect(response).toMatchObject({ status, body: { message, details: { code } } });
    expect(await fixture.stored()).toBe(0);
  });

  test('in a guild where the bot lacks Manage Roles no binding can be added', async () => {
    const world = bindingsWorld();
    await fixture.chat.putWorld({
      ...world,
      chat: {
        guilds: world.chat.guilds.map((guild) => ({
          ...guild,
          roles: guild.roles?.map((role) => ({ ...role, permissions: '0' })),
        })),
      },
    });
    const response = await fixture.add(rankBinding());
    await fixture.chat.putWorld(world);
    expect(response).toMatchObject({ status: 422, body: { details: { code: 'NOT_APPLICABLE' } } });
    expect(response.body.message).toContain('Manage Roles');
    expect(await fixture.stored()).toBe(0);
  });

  test('a role that was just created can be bound', async () => {
    const world = bindingsWorld();
    const harbor = world.chat.guilds.find(({ id }) => id === fixture.guild);
    if (!harbor?.roles) throw new Error('no such guild');
    const young = '910000000000000099';
    await fixture.added(rankBinding());
    await fixture.chat.putWorld({
      ...world,
      chat: {
        guilds: world.chat.guilds.map((guild) =>
          guild === harbor
            ? { ...harbor, roles: [...(harbor.roles ?? []), { id: young, name: 'Young', position: 1 }] }
            : guild,
        ),
      },
    });
    expect((await fixture.add(rankBinding({ chat_role_id: young }))).body.data).toMatchObject({
      chat_role_name: 'Young',
    });
  });

  test('@everyone cannot be bound', async () => {
    const response = await fixture.add(rankBinding({ chat_role_id: fixture.guild }));
    expect(faultsOf(response)).toEqual(['body.chat_role_id']);
  });

  test('the target is checked first, then the role', async () => {
    const response = await fixture.add(rankBinding({ chat_role_id: BOOSTER, game_group_id: 599 }));
    expect(response.body.details.code).toBe('INVALID_TARGET');
  });

  test('an account_age needs no call to the game platform', async () => {
    const age = { binding_type: 'account_age', account_age_platform: 'game', account_age_min_days: 7 };
    expect((await add(age)).status).toBe(201);
    expect(await fixture.game.calls()).toEqual({});
  });
});
