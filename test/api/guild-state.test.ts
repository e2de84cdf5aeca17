import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { GUILD_COUNTS } from '#proto/rest/guild-state.ts';
import { SCOPES } from '#proto/rest/scopes.ts';
import { PATIENCE } from '../patience.ts';
import { GuildStateFixture, OFFICER } from './fixtures/guild-state.ts';

const DAY_MS = 24 * 3_600_000;

let state: GuildStateFixture;

beforeAll(async () => {
  state = await new GuildStateFixture().start();
}, 180_000);
afterAll(() => state.stop());
afterEach(() => state.calm());

describe('the doctor', () => {
  test('names the scopes that a key lacks for a game, and a key that expires', async () => {
    const id = state.nextId();
    const expiresAtMs = Date.now() + 6 * DAY_MS;
    const scopes = SCOPES.filter((scope) => scope !== 'verify:write' && scope !== 'moderation:write');
    const { secret: key } = await state.network.createKey({
      guildId: id,
      name: 'Old',
      scopes,
      expiresAt: Math.floor(expiresAtMs / 1000),
    });
    const prefix = await state.prefixOf(id);
    const failed = await state.failed({ id, key });
    expect(failed.slice(0, 2).map(({ name, message }) => [name, message])).toEqual([
      [
        'game_key_scopes',
        `No key has every scope that the plugin of a game needs: the key "Old" (${prefix}) lacks moderation:write, verify:write.`,
      ],
      [
        'key_expiry',
        `1 key expires within 7 days: "Old" (${prefix}) on ${new Date(expiresAtMs).toISOString().slice(0, 10)}.`,
      ],
    ]);
  });

  test('only advises about keys that were never used or have no allowlist', async () => {
    const guild = await state.newGuild();
    await state.network.createKey({ guildId: guild.id, name: 'Forgotten', ipAllowlist: ['203.0.113.7'] });
    await state.rows(
      `UPDATE auth.keys SET created_at = now() - interval '2 days' WHERE guild_id = $1 AND name = 'Forgotten'`,
      [guild.id],
    );
    const checks = await state.checks(guild);
    expect(checks.find(({ name }) => name === 'key_use')).toMatchObject({
      ok: true,
      message: expect.stringContaining('1 key was never used: "Forgotten"'),
      fix: 'Revoke keys that nobody needs.',
    });
    expect(checks.find(({ name }) => name === 'key_allowlist')).toMatchObject({
      ok: true,
      message: expect.stringContaining('1 key can be used from any address: "Game"'),
    });
  });

  test('says that no server ever sent a heartbeat, and only advises once one has', async () => {
    const guild = await state.newGuild();
    expect(await state.check(guild, 'servers_report')).toMatchObject({
      ok: false,
      message: 'No game server has ever sent a heartbeat.',
      fix: expect.stringContaining('Install the plugin'),
    });
    await state.beat(guild, 'one');
    expect(await state.check(guild, 'servers_report')).toMatchObject({ ok: true, message: '1 game server is live.' });
    await state.rows(
      `UPDATE activity.servers SET heartbeat_at = now() - interval '12 minutes', live_until = now() - interval '11 minutes'
       WHERE guild_id = $1`,
      [guild.id],
    );
    expect(await state.check(guild, 'servers_report')).toMatchObject({
      ok: true,
      message: 'No game server is live; the last heartbeat was 12 minutes ago.',
    });
    await state.rows('DELETE FROM activity.servers WHERE guild_id = $1', [guild.id]);
    await state.rows(
      `INSERT INTO activity.games (guild_id, universe_id, place_id, name, registered_at, updated_at)
       VALUES ($1, 1, 1, 'Harbor', now(), now())`,
      [guild.id],
    );
    expect((await state.check(guild, 'servers_report'))?.message).toContain('none was in the last hour');
  });

  test('names the versions of the plugin if servers run different ones', async () => {
    const guild = await state.newGuild();
    await state.beat(guild, 'one');
    await state.beat(guild, 'two');
    await state.beat(guild, 'three', '1.3.2');
    expect(await state.check(guild, 'plugin_versions')).toMatchObject({
      ok: false,
      message: 'Live game servers run different versions of the plugin: 1.4.0 (2 servers) and 1.3.2 (1 server).',
    });
  });

  test('names webhooks that fail or are disabled, since when and why, but not their URLs', async () => {
    const guild = await state.newGuild();
    expect((await state.check(guild, 'webhooks_delivered'))?.message).toBe('The guild has no webhooks.');
    await state.addWebhook(guild.id, null, 'requested');
    expect(await state.check(guild, 'webhooks_delivered')).toMatchObject({ ok: true, message: 'No webhook fails.' });
    await state.addWebhook(guild.id, '2026-01-05T17:30:59Z');
    await state.addWebhook(guild.id, null, 'gone');
    const check = await state.check(guild, 'webhooks_delivered');
    expect(check?.ok).toBe(false);
    expect(check?.message).toMatch(/^2 webhooks do not deliver events: /);
    expect(check?.message).toContain('Ban log (fails since 2026-01-05 17:30 UTC)');
    expect(check?.message).toContain('Ban log (disabled, because its receiver responded that it no longer exists)');
    expect(JSON.stringify(check)).not.toContain('secret');
  });
});

describe('the overview', () => {
  test('counts what the guild has, for a key without any scope of it', async () => {
    const guild = await state.newGuild();
    const { secret: key } = await state.network.createKey({ guildId: guild.id, scopes: ['verify:write'] });
    const read = async () => (await state.network.call(`/guilds/${guild.id}/overview`, { key })).json;
    const none = Object.fromEntries(Object.keys(GUILD_COUNTS).map((name) => [name, 0]));
    expect(await read()).toMatchObject({ message: 'Overview read', data: { counts: none, minimums: [], omitted: [] } });
    await state.bind(guild.id, 1, OFFICER);
    await state.beat(guild, 'one');
    await state.beat(guild, 'two');
    await state.addWebhook(guild.id, '2026-01-05T17:30:59Z');
    await state.addWebhook(guild.id, null, 'requested');
    for (const [path, body] of [
      [`/moderation/${guild.id}/game/ban`, { game_id: 7001, reason: 'Cheats' }],
      [`/moderation/${guild.id}/game/mute`, { game_id: 7002, reason: 'Spam', duration_seconds: 600 }],
      [
        '/verification/link',
        { guild_id: guild.id, chat_id: '920000000000000001', game_id: 7001, game_username: 'AdaBuilds' },
      ],
    ] as const) {
      const call = { method: 'POST', key: guild.key, body };
      expect((await state.network.call(path, call)).status).toBeLessThan(300);
    }
    expect((await read()).data.counts).toEqual({
      ...none,
      links: 1,
      bindings: 1,
      active_bans: 1,
      active_mutes: 1,
      live_servers: 2,
      players: 6,
      webhooks: 2,
      failing_webhooks: 1,
    });
  });

  test('stops counting at ten thousand and says so', async () => {
    const guild = await state.newGuild();
    await state.rows(
      `INSERT INTO moderation.punishments
         (guild_id, kind, game_id, place_id, reason, created_at, expires_at, updated_at)
       SELECT $1, 'ban', n, 0, 'x', now(), 'infinity', now() FROM generate_series(1, 10001) n`,
      [guild.id],
    );
    const { data } = (await state.network.call(`/guilds/${guild.id}/overview`, { key: guild.key })).json;
    expect(data).toMatchObject({ counts: { active_bans: 10_000, active_mutes: 0 }, minimums: ['active_bans'] });
  });
});

describe('both routes', () => {
  test('are only for the guild of the key, and the doctor needs sync:read', async () => {
    const guild = await state.newGuild();
    const other = await state.newGuild();
    const { secret: weak } = await state.network.createKey({ guildId: guild.id, scopes: ['lookup:read'] });
    const statuses = async (key: string | undefined, path: string) =>
      (await state.network.call(path, { key })).json.details?.code;
    expect(await statuses(weak, `/guilds/${guild.id}/doctor`)).toBe('MISSING_SCOPE');
    for (const route of ['doctor', 'overview']) {
      expect(await statuses(undefined, `/guilds/${guild.id}/${route}`)).toBe('MISSING_API_KEY');
      expect(await statuses(other.key, `/guilds/${guild.id}/${route}`)).toBe('GUILD_MISMATCH');
      expect(await statuses(guild.key, `/guilds/abc/${route}`)).toBe('GUILD_MISMATCH');
    }
  });

  // The last test, because it stops services.
  test('work while services are down, and name them', async () => {
    const guild = await state.newGuild();
    await state.bind(guild.id, 1, OFFICER);
    for (const name of ['moderation', 'bindings', 'members', 'activity', 'events']) {
      await state.network.services.get(name)?.stop();
    }
    await vi.waitFor(async () => {
      expect((await state.failed(guild)).map(({ name }) => name)).toEqual([
        'bindings_service',
        'members_service',
        'activity_service',
        'events_service',
      ]);
    }, PATIENCE);
    const { status, json } = await state.network.call(`/guilds/${guild.id}/overview`, { key: guild.key });
    expect(status).toBe(200);
    expect(json.data.omitted).toEqual(['activity', 'bindings', 'events', 'moderation']);
    expect(json.data.counts).toMatchObject({ links: 0, bindings: null, active_bans: null, players: null });
  });
});
