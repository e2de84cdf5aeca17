import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { RunningService } from '#kit/service/service.ts';
import { ActivityFixture, GUILD, newGuild, OTHER_GUILD } from './fixture.ts';

const fixture = new ActivityFixture();
beforeAll(() => fixture.start());
afterAll(() => fixture.stop());

const unixNow = () => Math.floor(fixture.clock.now() / 1000);

describe('registering a game', () => {
  const register = (fields: object = {}, request: object = {}) =>
    fixture.post(
      '/game/games/register',
      { universe_id: 30001, place_id: 40001, name: 'Harbor Life', plugin_version: '1.0.0', ...fields },
      request,
    );

  test('returns the intervals for requests; a repeat is the same registration', async () => {
    const first = await register();
    const data = {
      registration_id: expect.any(Number),
      created: true,
      config: {
        server_heartbeat_seconds: 15,
        staff_heartbeat_seconds: 60,
        poll_seconds: 15,
        permission_cache_seconds: 300,
      },
    };
    expect([first.status, first.body]).toEqual([
      200,
      { status: 'success', code: 200, message: 'Game registered', data },
    ]);
    const again = await register({ name: 'Harbor Life 2', universe_id: '30001', plugin_version: null });
    expect(again.body.data).toEqual({ ...first.body.data, created: false });
    const games = await fixture.database.query('SELECT name, plugin_version FROM activity.games WHERE guild_id = $1', [
      GUILD,
    ]);
    expect(games).toEqual([{ name: 'Harbor Life 2', plugin_version: null }]);
  });

  test('8 times concurrently is one registration', async () => {
    const guildId = newGuild();
    const responses = await Promise.all(Array.from({ length: 8 }, () => register({}, { guildId })));
    expect(new Set(responses.map(({ body }) => body.data.registration_id)).size).toBe(1);
    expect(responses.filter(({ body }) => body.data.created)).toHaveLength(1);
  });

  test('another place is another registration; their IDs are numbered within the guild', async () => {
    const [guildId, other] = [newGuild(), newGuild()];
    const idOf = async (place: number, guild: string) =>
      (await register({ place_id: place }, { guildId: guild })).body.data.registration_id;
    expect(await idOf(40001, guildId)).toBe(1);
    expect(await idOf(40002, guildId)).toBe(2);
    expect(await idOf(40001, other)).toBe(1);
    expect(await idOf(40001, guildId)).toBe(1);
  });

  test('reports every fault', async () => {
    const { status, body } = await fixture.post('/game/games/register', { name: '', plugin_version: 2 });
    expect([status, body.details.errors]).toEqual([
      400,
      [
        { path: 'body.universe_id', message: 'is required' },
        { path: 'body.place_id', message: 'is required' },
        { path: 'body.name', message: 'must have 1 to 100 characters' },
        { path: 'body.plugin_version', message: 'must be a string' },
      ],
    ]);
  });
});

test('a staff role that one replica sets or removes is immediately visible in the others', async () => {
  const guildId = newGuild();
  const other = await fixture.startActivity();
  const role = { guildId, chatRoleId: '910000000000000001', actor: 'ada' };
  const listed = async (at: RunningService) =>
    (await fixture.staffAdmin(at).listStaffRoles({ guildId })).roles.map(({ level, name }) => [level, name]);
  for (const level of [3, 7]) {
    await fixture.staffAdmin().setStaffRole({ ...role, level, name: 'Officer', permissions: [] });
    expect(await listed(other)).toEqual([[level, 'Officer']]);
  }
  await fixture.staffAdmin(other).removeStaffRole(role);
  expect(await listed(fixture.activity)).toEqual([]);
  await other.stop();
});

describe('logging an action', () => {
  const log = (fields: object = {}, request: object = {}) =>
    fixture.post('/staff/game/action', { actor_game_id: 7001, action_type: 'kick', ...fields }, request);
  const stored = (actionId: string) =>
    fixture.database.query('SELECT * FROM activity.actions WHERE action_id = $1', [actionId]);

  test('is 201 and stores all its fields; a repeat is 200 and changes nothing', async () => {
    const actionId = randomUUID();
    const fields = {
      action_id: actionId,
      target_game_id: 7004,
      place_id: '40001',
      server_id: 'a',
      details: { reason: 'spam', nested: { list: [1, '\u0000'] } },
      occurred_at: 1_790_000_000,
    };
    const first = await log(fields);
    expect([first.status, first.body]).toEqual([
      201,
      { status: 'success', code: 201, message: 'Action logged', data: { id: actionId } },
    ]);
    const again = await log({ action_id: actionId, action_type: 'ban' });
    expect([again.status, again.body]).toEqual([
      200,
      { status: 'success', code: 200, message: 'Action was logged before', data: { id: actionId } },
    ]);
    expect(await stored(actionId)).toEqual([
      {
        guild_id: GUILD,
        action_id: actionId,
        actor_game_id: 7001,
        action_type: 'kick',
        target_game_id: 7004,
        place_id: 40001,
        server_id: 'a',
        details: fields.details,
        occurred_at: new Date(1_790_000_000_000),
        created_at: new Date(fixture.clock.now()),
      },
    ]);
  });

  test('requires only actor, type and ID', async () => {
    const actionId = randomUUID();
    expect((await log({ action_id: actionId })).status).toBe(201);
    expect(await stored(actionId)).toMatchObject([
      { details: null, target_game_id: null, occurred_at: new Date(unixNow() * 1000) },
    ]);
  });

  test('8 times concurrently logs it once', async () => {
    const actionId = randomUUID();
    const responses = await Promise.all(Array.from({ length: 8 }, () => log({ action_id: actionId })));
    expect(responses.filter(({ status }) => status === 201)).toHaveLength(1);
    expect(new Set(responses.map(({ body }) => body.data.id))).toEqual(new Set([actionId]));
  });

  test('of another guild can have the same ID', async () => {
    const actionId = randomUUID();
    const responses = [
      await log({ action_id: actionId }),
      await log({ action_id: actionId }, { guildId: OTHER_GUILD }),
    ];
    expect(responses.map(({ status }) => status)).toEqual([201, 201]);
  });

  test('accepts the JSON of Luau: an empty table for no details, a UUID in braces and capital letters', async () => {
    const actionId = randomUUID();
    const { status, body } = await log({ action_id: `{${actionId.toUpperCase()}}`, details: [] });
    expect([status, body.data]).toEqual([201, { id: actionId }]);
    expect(await stored(actionId)).toMatchObject([{ details: {} }]);
  });

  test('reports every fault', async () => {
    const wrong = {
      action_id: 'x',
      action_type: '',
      details: ['a'],
      occurred_at: 1.5,
      target_game_id: -1,
      server_id: 'a b',
    };
    const { status, body } = await log({ actor_game_id: undefined, ...wrong });
    expect([status, body.details.errors.map((fault: { path: string }) => fault.path)]).toEqual([
      400,
      [
        'body.actor_game_id',
        'body.action_type',
        'body.action_id',
        'body.target_game_id',
        'body.server_id',
        'body.details',
        'body.occurred_at',
      ],
    ]);
  });

  test('with an empty server ID, as in the editor, is 422', async () => {
    const { status, body } = await log({ action_id: randomUUID(), server_id: '' });
    expect([status, body.details.code]).toEqual([422, 'NOT_APPLICABLE']);
  });
});
