import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { unixSeconds } from '#kit/clock.ts';
import type { RunningService } from '#kit/service/service.ts';
import { startTcpProxy } from '#test/network/tcp-proxy.ts';
import { PATIENCE } from '#test/patience.ts';
import { createTestDatabase, databaseRows } from '#test/postgres/database.ts';
import { GUILD, ModerationFixture, newGuild, newPlayer, OTHER_GUILD } from './fixture.ts';

const fixture = new ModerationFixture();
beforeAll(async () => {
  await fixture.start();
  await vi.waitUntil(() => isCaching(fixture.moderation), PATIENCE);
});
afterAll(() => fixture.stop());

const now = () => unixSeconds(fixture.clock.now());
const faultsOf = (response: { body: { details: { errors: { path: string }[] } } }) =>
  response.body.details.errors.map(({ path }) => path);

/** True if the replica answers the second of two equal requests from its cache. */
async function isCaching(at: RunningService): Promise<boolean> {
  const path = `/moderation/${GUILD}/ban-status/${newPlayer()}`;
  await fixture.get(path, { at });
  const before = await playersRead(at);
  await fixture.get(path, { at });
  return (await playersRead(at)) === before;
}

/** The number of players whose status a replica has read from the database. */
async function playersRead(at = fixture.moderation): Promise<number> {
  const metrics = await (await fetch(`http://${at.addresses.admin}/metrics`)).text();
  return Number(/^moderation_checks_total\{source="database"\} (\d+)$/m.exec(metrics)?.[1] ?? 0);
}

/** Inserts a ban or mute directly into the database, so that no replica is notified. */
async function insert(guildId: string, kind: string, gameId: number, expiresAt: Date | 'infinity'): Promise<void> {
  await fixture.query(
    `INSERT INTO moderation.punishments (guild_id, kind, game_id, place_id, reason, created_at, expires_at, updated_at)
     VALUES ($1, $2, $3, 0, 'Inserted', now(), $4, now())`,
    [guildId, kind, gameId, expiresAt],
  );
}

describe.each([
  ['ban', 'banned', 'Ban status checked'],
  ['mute', 'muted', 'Mute status checked'],
] as const)('%s-status', (kind, word, message) => {
  const path = (gameId: number | string, query = '', guildId = GUILD) =>
    `/moderation/${guildId}/${kind}-status/${gameId}${query}`;
  const info = `${kind}_info`;
  const by = `${word}_by`;

  test('has exactly one field if nothing is in force against the player', async () => {
    const gameId = newPlayer();
    const expected = { status: 'success', code: 200, message, data: { [word]: false } };
    expect((await fixture.get(path(gameId))).body).toEqual(expected);
    await fixture.decide(kind === 'ban' ? 'mute' : 'ban', { game_id: gameId });
    await fixture.decide(kind, { game_id: gameId }, { guildId: OTHER_GUILD });
    expect((await fixture.get(path(gameId))).body).toEqual(expected);
  });

  test('has the reason, the moderator and the times', async () => {
    const gameId = newPlayer();
    await fixture.decide(kind, { game_id: gameId, reason: 'Exploits', moderator_game_id: 7002, duration: '1h' });
    expect((await fixture.get(path(gameId))).body.data).toEqual({
      [word]: true,
      [info]: {
        reason: 'Exploits',
        [by]: '7002',
        created_at: now(),
        expires_at: now() + 3600,
        is_permanent: false,
      },
    });
  });

  test.each([
    [{ moderator_game_id: 5, moderator_chat_id: '920000000000000001' }, '920000000000000001'],
    [{ moderator_chat_id: '920000000000000001' }, '920000000000000001'],
    [{}, null],
  ])('shows the chat ID of the moderator, otherwise the game ID, otherwise null: %j', async (moderator, named) => {
    const gameId = newPlayer();
    await fixture.decide(kind, { game_id: gameId, ...moderator });
    expect((await fixture.get(path(gameId))).body.data[info]).toMatchObject({
      [by]: named,
      expires_at: null,
      is_permanent: true,
    });
  });

  test('with scope place counts only there; if a global one is also in force, that one is shown', async () => {
    const gameId = newPlayer();
    await fixture.decide(kind, { game_id: gameId, reason: 'Here', scope: 'place', place_id: 41 });
    const reasonAt = async (query: string) => (await fixture.get(path(gameId, query))).body.data[info]?.reason;
    expect(await reasonAt('')).toBeUndefined();
    expect(await reasonAt('?place_id=42')).toBeUndefined();
    expect(await reasonAt('?place_id=41')).toBe('Here');
    await fixture.decide(kind, { game_id: gameId, reason: 'Everywhere', duration: 60 });
    for (const query of ['', '?place_id=42', '?place_id=41']) expect(await reasonAt(query)).toBe('Everywhere');
    await fixture.advance(60_000);
    expect([await reasonAt(''), await reasonAt('?place_id=41')]).toEqual([undefined, 'Here']);
  });

  test('ends exactly at its expiry, also if it is cached', async () => {
    const [guildId, gameId] = [newGuild(), newPlayer()];
    await insert(guildId, kind, gameId, new Date(fixture.clock.now() + 5_000));
    const read = async () => (await fixture.get(path(gameId, '', guildId), { guildId })).body.data[word];
    expect(await read()).toBe(true);
    const before = await playersRead();
    await fixture.advance(4_999);
    expect(await read()).toBe(true);
    await fixture.advance(1);
    expect(await read()).toBe(false);
    expect(await playersRead()).toBe(before);
  });

  test('a decision is immediately visible in the replica that made it', async () => {
    const gameId = newPlayer();
    const read = async () => (await fixture.get(path(gameId))).body.data[word];
    for (let count = 0; count < 5; count++) {
      expect(await read()).toBe(false);
      await fixture.decide(kind, { game_id: gameId });
      expect(await read()).toBe(true);
      await fixture.decide(`un${kind}`, { game_id: gameId });
    }
    expect(await read()).toBe(false);
  });

  test('a change without notification is visible after ten seconds, with no_cache immediately', async () => {
    const [guildId, gameId] = [newGuild(), newPlayer()];
    const read = async (query = '') => (await fixture.get(path(gameId, query, guildId), { guildId })).body.data[word];
    await read();
    await insert(guildId, kind, gameId, 'infinity');
    await fixture.advance(9_999);
    expect([await read(), await read('?no_cache=false')]).toEqual([false, false]);
    await fixture.advance(1);
    expect(await read()).toBe(true);
    await fixture.query('DELETE FROM moderation.punishments WHERE game_id = $1', [gameId]);
    expect(await read()).toBe(true);
    expect(await read('?no_cache=true')).toBe(false);
  });

  test.each(['0', '-1', '1.5', '007', '9007199254740992', 'ada'])('rejects the identifier %s', async (id) => {
    const response = await fixture.get(path(id));
    expect([response.status, faultsOf(response)]).toEqual([400, ['path.identifier']]);
  });

  test('lists all faults of the query', async () => {
    const response = await fixture.get(path(5, '?place_id=x&no_cache=yes'));
    expect([response.status, faultsOf(response)]).toEqual([400, ['query.place_id', 'query.no_cache']]);
  });
});

describe('game/status', () => {
  const status = (body: unknown, guildId = GUILD) =>
    fixture.post(`/moderation/${guildId}/game/status`, body, { guildId });

  test('returns bans, mutes and flags of several players', async () => {
    const [clean, banned, muted, both] = [newPlayer(), newPlayer(), newPlayer(), newPlayer()];
    await fixture.decide('ban', { game_id: banned, reason: 'B', duration: 60 });
    await fixture.decide('mute', { game_id: muted, reason: 'M' });
    await fixture.decide('ban', { game_id: both, reason: 'P', scope: 'place', place_id: 9, moderator_game_id: 3 });
    await fixture.decide('mute', { game_id: both, reason: 'N' });
    const response = await status({ game_ids: [clean, banned, String(muted), both, both], place_id: 9 });
    const times = { created_at: now(), expires_at: null, is_permanent: true };
    const nothing = { banned: false, ban_info: null, muted: false, mute_info: null, flagged: false };
    expect(response.body).toEqual({
      status: 'success',
      code: 200,
      message: 'Players checked',
      data: {
        results: {
          [clean]: nothing,
          [banned]: {
            ...nothing,
            banned: true,
            ban_info: { reason: 'B', banned_by: null, ...times, expires_at: now() + 60, is_permanent: false },
          },
          [muted]: { ...nothing, muted: true, mute_info: { reason: 'M', muted_by: null, ...times } },
          [both]: {
            banned: true,
            ban_info: { reason: 'P', banned_by: '3', ...times },
            muted: true,
            mute_info: { reason: 'N', muted_by: null, ...times },
            flagged: false,
          },
        },
      },
    });
    const elsewhere = await status({ game_ids: [both] });
    expect(elsewhere.body.data.results[both]).toMatchObject({ banned: false, muted: true });
  });

  test('accepts 0 to 25 players and rejects 26', async () => {
    const ids = Array.from({ length: 26 }, newPlayer);
    expect(Object.keys((await status({ game_ids: ids.slice(1) })).body.data.results)).toHaveLength(25);
    expect((await status({ game_ids: [] })).body.data).toEqual({ results: {} });
    const response = await status({ game_ids: ids });
    expect(response.body.details.errors).toEqual([{ path: 'body.game_ids', message: 'must hold at most 25 IDs' }]);
    expect(faultsOf(await status({ place_id: 'x' }))).toEqual(['body.game_ids', 'body.place_id']);
  });

  test('reads only the players that are not cached', async () => {
    const guildId = newGuild();
    const ids = Array.from({ length: 25 }, newPlayer);
    await status({ game_ids: ids.slice(0, 20) }, guildId);
    const before = await playersRead();
    await status({ game_ids: ids }, guildId);
    expect(await playersRead()).toBe(before + 5);
    await status({ game_ids: ids }, guildId);
    expect(await playersRead()).toBe(before + 5);
  });
});

test('a cached status is available without the database', async () => {
  const proxy = await startTcpProxy(Number(new URL(fixture.database.url).port));
  const url = new URL(fixture.database.url);
  url.port = String(proxy.port);
  // The connection that receives notifications stays open.
  const databases = { DATABASE_URL: url.href, DATABASE_DIRECT_URL: fixture.database.url };
  const service = await fixture.startReplica(databases);
  await expect.poll(() => isCaching(service)).toBe(true);
  const [known, unknown] = [newPlayer(), newPlayer()];
  const path = (gameId: number) => `/moderation/${GUILD}/ban-status/${gameId}`;
  expect((await fixture.get(path(known), { at: service })).body.data).toEqual({ banned: false });
  await proxy.close();
  for (let count = 0; count < 20; count++) {
    expect((await fixture.get(path(known), { at: service })).body.data).toEqual({ banned: false });
  }
  for (const uncached of [path(unknown), `${path(known)}?no_cache=true`]) {
    expect((await fixture.get(uncached, { at: service })).status).toBe(503);
  }
  await service.stop();
});

test('without its database every request is 503 with Retry-After, and no player is reported as not banned', async () => {
  const lost = await createTestDatabase();
  const service = await fixture.startReplica({ DATABASE_URL: lost.url });
  const [known, unknown] = [newPlayer(), newPlayer()];
  const path = (gameId: number) => `/moderation/${GUILD}/ban-status/${gameId}`;
  await databaseRows(
    lost.url,
    `INSERT INTO moderation.punishments
       (guild_id, kind, game_id, place_id, reason, created_at, expires_at, updated_at)
     VALUES ($1, 'ban', $2, 0, 'Cheats', now(), 'infinity', now())`,
    [GUILD, known],
  );
  expect((await fixture.get(path(known), { at: service })).body.data.banned).toBe(true);
  await lost.drop();
  const responses = [
    await fixture.get(path(unknown), { at: service }),
    await fixture.get(`${path(known)}?no_cache=true`, { at: service }),
    await fixture.post(`/moderation/${GUILD}/game/status`, { game_ids: [unknown] }, { at: service }),
    await fixture.get(`/moderation/${GUILD}/game/bans/active`, { at: service }),
    await fixture.get(`/moderation/${GUILD}/logs`, { at: service }),
    await fixture.get(`/shield/check/${unknown}`, { at: service }),
    await fixture.decide('ban', { game_id: unknown }, { at: service }),
    await fixture.decide('unban', { game_id: known }, { at: service, key: 'lost' }),
  ];
  for (const response of responses) {
    expect(response).toMatchObject({ status: 503, body: { details: { code: 'UNAVAILABLE' } } });
    expect(response.headers.get('retry-after')).toBe('1');
  }
  await service.stop();
});
