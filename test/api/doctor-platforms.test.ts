import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { GUILD_CHECKS } from '#proto/rest/guild-checks.ts';
import {
  BOOSTER,
  DECKHAND,
  GuildStateFixture,
  LOW_GUILD,
  OFFICER,
  POWERLESS_GUILD,
  UNKNOWN_GUILD,
} from './fixtures/guild-state.ts';

/** Checks that a guild has only if its settings, or the configuration, need them. */
const IF_NEEDED = new Set(['bot_creates_invites', 'bot_times_out_members', 'chat_websocket', 'game_platform_rights']);

let state: GuildStateFixture;

beforeAll(async () => {
  state = await new GuildStateFixture().start();
}, 180_000);
afterAll(() => state.stop());
afterEach(() => state.calm());

describe('the doctor', () => {
  // The first test, because the response to a call with the key is cached.
  test('says that the game platform rejects the key of the installation', async () => {
    const guild = await state.newGuild();
    await state.bind(guild.id, 1, OFFICER);
    await state.game.fault('/cloud/v2/', { status: 401 });
    expect(await state.check(guild, 'game_platform')).toMatchObject({
      ok: false,
      message: 'The game platform rejected a request, so that not everything could be checked.',
      fix: 'Ask the operator of this installation to check the key for the game platform.',
    });
  });

  test('of a guild whose set-up is complete finds nothing to do, in the order of the table', async () => {
    const guild = await state.newGuild();
    await state.bind(guild.id, 1, OFFICER);
    await state.beat(guild, 'one');
    const found = await state.checks(guild);
    expect(found.filter(({ ok }) => !ok)).toEqual([]);
    const names = Object.keys(GUILD_CHECKS).filter((name) => !/platform$|_service$/.test(name) && !IF_NEEDED.has(name));
    expect(found.map(({ name }) => name)).toEqual(names);
    expect(found.filter(({ fix }) => fix !== null).map(({ name }) => name)).toEqual(['key_allowlist', 'staff_roles']);
  });

  test('says that the bot is not in the guild, and how to invite it', async () => {
    const guild = await state.newGuild(UNKNOWN_GUILD);
    await state.bind(guild.id, 1, OFFICER);
    const checks = await state.checks(guild);
    expect(checks.find(({ name }) => name === 'bot_in_guild')).toEqual({
      name: 'bot_in_guild',
      ok: false,
      message: 'The bot is not a member of the guild, or may not read it.',
      fix: 'Invite the bot to the guild, with the permissions Manage Roles and Manage Nicknames.',
    });
    // What depends on it is not reported as well.
    expect(checks.filter(({ name }) => /^bot_|^bound_roles|^chat_/.test(name))).toHaveLength(1);
  });

  test('names the permissions that the bot lacks', async () => {
    const failed = await state.failed(await state.newGuild(POWERLESS_GUILD));
    expect(failed.map(({ name, message }) => [name, message]).slice(0, 2)).toEqual([
      ['bot_manages_roles', 'The bot does not have the permission Manage Roles.'],
      ['bot_manages_nicknames', 'The bot does not have the permission Manage Nicknames.'],
    ]);
    expect(failed[0]?.fix).toContain('switch on Manage Roles');
  });

  test('checks what the settings of the guild need: Timeout Members, and rights of the key for the game platform', async () => {
    const { id, key } = await state.newGuild();
    const body = { mirror_timeouts: true, push_commands: true, mirror_bans: { universe_ids: [30001] } };
    const changed = await state.network.call(`/guilds/${id}/settings`, { method: 'PATCH', key, body });
    expect(changed.status).toBe(200);
    const checks = await state.checks({ id, key });
    const found = checks.filter(({ name }) => IF_NEEDED.has(name) || name === 'game_platform_key');
    expect(found.map(({ name, ok }) => [name, ok])).toEqual([
      ['bot_times_out_members', true],
      ['game_platform_key', true],
      ['game_platform_rights', true],
    ]);
  });

  test('names the role to drag and the role above which it belongs', async () => {
    const guild = await state.newGuild(LOW_GUILD);
    await state.bind(guild.id, 1, DECKHAND);
    await state.bind(guild.id, 2, OFFICER);
    expect(await state.check(guild, 'bot_role_order')).toEqual({
      name: 'bot_role_order',
      ok: false,
      message: "2 roles of a binding are not below the bot's highest role: Officer and Deckhand.",
      fix: 'In the settings of the guild, under Roles, drag the role Guild Data above the role Officer.',
    });
  });

  test('names the binding of a deleted role, and that of a role which nobody can assign', async () => {
    const guild = await state.newGuild();
    await state.bind(guild.id, 7, '910000000000009999');
    await state.bind(guild.id, 8, BOOSTER);
    const failed = await state.failed(guild);
    expect(failed.slice(0, 2)).toEqual([
      {
        name: 'bound_roles_exist',
        ok: false,
        message: '1 binding gives a role that was deleted.',
        fix: 'Remove the binding 7.',
      },
      {
        name: 'bound_roles_assignable',
        ok: false,
        message: '1 role of a binding belongs to an integration, which alone assigns it: Server Booster.',
        fix: 'Remove the binding 8, or bind another role instead.',
      },
    ]);
  });

  test('names groups and items that the game platform does not have, with their bindings', async () => {
    const guild = await state.newGuild();
    await state.bind(guild.id, 1, OFFICER);
    await state.bind(guild.id, 2, OFFICER, 4040);
    await state.bind(guild.id, 3, DECKHAND, 4040);
    await state.rows(
      `INSERT INTO bindings.bindings (guild_id, id, chat_role_id, type, gamepass_id, created_at, updated_at)
       VALUES ($1, 4, $2, 'gamepass', 4041, now(), now())`,
      [guild.id, OFFICER],
    );
    const failed = await state.failed(guild);
    expect(failed.slice(0, 2).map(({ name, message }) => [name, message])).toEqual([
      ['bound_groups_exist', 'The game platform does not have the group 4040 (binding 2 and 3).'],
      ['bound_items_exist', 'The game platform does not have the game pass 4041 (binding 4).'],
    ]);
  });

  test.each([
    ['responds with errors', { status: 500 }],
    ['is slow', { delay_ms: 30_000 }],
  ])('says that the chat platform does not respond if it %s', async (_title, fault) => {
    const guild = await state.newGuild();
    await state.bind(guild.id, 1, OFFICER);
    await state.chat.fault(`/guilds/${guild.id}`, fault);
    const checks = await state.checks(guild);
    expect(checks.filter(({ name }) => /^bot_|^bound_roles|^chat_/.test(name))).toMatchObject([
      { name: 'chat_platform', ok: false, fix: expect.stringContaining('operator of this installation') },
    ]);
    expect(checks.find(({ name }) => name === 'bound_groups_exist')?.ok).toBe(true);
  });

  test('says that the game platform does not respond', async () => {
    const guild = await state.newGuild();
    await state.bind(guild.id, 1, OFFICER, 502);
    await state.game.fault('/groups/502', { delay_ms: 30_000 });
    const checks = await state.checks(guild);
    expect(checks.find(({ name }) => name === 'game_platform')).toMatchObject({
      ok: false,
      message: expect.stringContaining('does not respond at the moment'),
    });
    expect(checks.find(({ name }) => name === 'bot_role_order')?.ok).toBe(true);
  });

  test('calls the platforms once for requests within half a minute', async () => {
    const guild = await state.newGuild();
    await state.bind(guild.id, 1, OFFICER);
    await Promise.all(Array.from({ length: 5 }, () => state.checks(guild)));
    const calls = await state.chat.calls();
    expect(calls['GET /api/v10/guilds/:guild']).toBe(1);
    expect(calls['GET /api/v10/guilds/:guild/roles']).toBe(1);
    await state.checks(guild);
    expect(await state.chat.calls()).toEqual(calls);
  });
});
