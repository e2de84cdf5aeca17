import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { unixSeconds } from '#kit/clock.ts';
import { ShieldAdminServiceService } from '#proto/gen/guild/moderation/v1/admin.ts';
import { connect } from '#test/network/grpc.ts';
import { recordedEvents } from '#test/postgres/recorded-events.ts';
import { TEST_PREFIX, TEST_SOURCE } from '#test/system/signed-calls.ts';
import { ADMIN_SECRET, ModerationFixture, newGuild, newPlayer } from '../fixture.ts';

const MAX = 3;
const fixture = new ModerationFixture();
let admin: ReturnType<typeof connect<typeof ShieldAdminServiceService>>;
beforeAll(async () => {
  await fixture.start({ MAX_SHIELD_ENTRIES: String(MAX) });
  const address = fixture.moderation.addresses.grpc ?? '';
  admin = connect(ShieldAdminServiceService, 'moderation', address, fixture.clock, [ADMIN_SECRET]);
});
afterAll(async () => {
  admin.close();
  await fixture.stop();
});

const FLAG = { reason: ' Sells items ', category: 'scammer' };
const now = () => unixSeconds(fixture.clock.now());
const pathOf = (guildId: string, gameId: number | string) => `/guilds/${guildId}/shield/${gameId}`;
const put = (guildId: string, gameId: number | string, body: object = FLAG, key?: string) =>
  fixture.put(pathOf(guildId, gameId), body, { guildId, ...(key !== undefined && { key }) });
const remove = (guildId: string, gameId: number, key?: string) =>
  fixture.delete(pathOf(guildId, gameId), { guildId, ...(key !== undefined && { key }) });
const check = async (guildId: string, gameId: number) =>
  (await fixture.get(`/shield/check/${gameId}`, { guildId })).body.data.entry;
const events = (guildId: string) => recordedEvents(fixture.database.url, 'moderation', guildId);

describe('a guild flags a player', () => {
  test('in its own list, with one event of its key, and replaces the entry', async () => {
    const [guildId, gameId] = [newGuild(), newPlayer()];
    const end = now() + 3_600;
    expect(await check(guildId, gameId)).toBeNull();
    const entry = {
      game_id: gameId,
      game_username: null,
      reason: 'Sells items',
      category: 'scammer',
      source: 'api',
      flagged_at: now(),
    };
    const first = await put(guildId, gameId, { ...FLAG, expires_at: end });
    expect([first.status, first.body]).toEqual([
      200,
      { status: 'success', code: 200, message: 'Player flagged', data: { ...entry, expires_at: end } },
    ]);
    expect(await check(guildId, gameId)).toEqual(entry);
    expect(await check(newGuild(), gameId)).toBeNull();
    const second = await put(guildId, gameId, { ...FLAG, category: 'exploiter', game_username: 'Ada' });
    const replaced = { ...entry, category: 'exploiter', game_username: 'Ada' };
    expect(second.body.data).toEqual({ ...replaced, expires_at: null });
    expect(await check(guildId, gameId)).toEqual(replaced);
    const common = { type: 'shield.added', source: TEST_SOURCE, persons: [`game:${gameId}`] };
    expect(await events(guildId)).toEqual([
      { ...common, number: 1, data: entry },
      { ...common, number: 2, data: replaced },
    ]);
    const { entries } = await admin.client.listEntries({ guildId, limit: 10, afterGameId: 0 });
    expect(entries).toMatchObject([{ gameId, source: 'api', actor: TEST_PREFIX, category: 'exploiter' }]);
  });

  test('once, if the request is repeated with its Idempotency-Key, also after the entry has expired', async () => {
    const [guildId, gameId] = [newGuild(), newPlayer()];
    const body = { ...FLAG, expires_at: now() + 60 };
    const first = await put(guildId, gameId, body, 'k');
    await fixture.advance(61_000);
    const repeat = await put(guildId, gameId, body, 'k');
    expect([repeat.status, repeat.headers.get('idempotency-replayed')]).toEqual([200, 'true']);
    expect(repeat.body).toEqual(first.body);
    expect(await check(guildId, gameId)).toBeNull();
    expect((await put(guildId, gameId, FLAG, 'k')).status).toBe(409);
    const added = (await events(guildId)).filter(({ type }) => type === 'shield.added');
    expect(added).toHaveLength(1);
  });

  test('only with valid fields and an end in the future; all faults are reported together', async () => {
    const guildId = newGuild();
    const pathsOf = async (gameId: number | string, body: object) => {
      const response = await put(guildId, gameId, body);
      expect(response.status).toBe(400);
      return (response.body.details.errors as { path: string }[]).map(({ path }) => path);
    };
    expect(await pathsOf('x', { reason: ' ', expires_at: 'soon', game_username: '' })).toEqual([
      'path.gameId',
      'body.reason',
      'body.category',
      'body.game_username',
      'body.expires_at',
    ]);
    for (const time of [now(), now() * 1_000_000]) {
      expect(await pathsOf(7_001, { ...FLAG, expires_at: time })).toEqual(['body.expires_at']);
    }
    expect(await events(guildId)).toEqual([]);
  });

  test('up to the quota of its list; a rejected request may be repeated with the same key', async () => {
    const guildId = newGuild();
    const players = Array.from({ length: 2 * MAX }, newPlayer);
    const responses = await Promise.all(players.map((gameId) => put(guildId, gameId)));
    expect(responses.filter(({ status }) => status === 200)).toHaveLength(MAX);
    const next = newPlayer();
    const full = await put(guildId, next, FLAG, 'k');
    expect([full.status, full.body.details]).toEqual([
      409,
      { code: 'QUOTA_EXCEEDED', quota: 'shield_entries', limit: MAX },
    ]);
    const flagged = players[responses.findIndex(({ status }) => status === 200)] ?? 0;
    expect((await put(guildId, flagged)).status).toBe(200);
    await remove(guildId, flagged);
    expect((await put(guildId, next, FLAG, 'k')).status).toBe(200);
    expect((await put(guildId, newPlayer())).status).toBe(409);
    expect(await events(guildId)).toHaveLength(MAX + 3);
  });

  test('together with the event, or not at all', async () => {
    const [guildId, gameId] = [newGuild(), newPlayer()];
    await fixture.query(
      `ALTER TABLE moderation.events ADD CONSTRAINT fails CHECK (guild_id <> '${guildId}') NOT VALID`,
    );
    expect((await put(guildId, gameId, FLAG, 'k')).status).toBe(500);
    expect(await check(guildId, gameId)).toBeNull();
    await fixture.query('ALTER TABLE moderation.events DROP CONSTRAINT fails');
    expect((await put(guildId, gameId, FLAG, 'k')).status).toBe(200);
    expect(await events(guildId)).toHaveLength(1);
  });
});

describe('a guild removes a flag', () => {
  test('from its own list with one event; a player whom operators flagged for all guilds stays flagged', async () => {
    const [guildId, gameId] = [newGuild(), newPlayer()];
    await admin.client.addEntry({ guildId: '', gameId, reason: 'Cheats', category: 'exploiter', actor: 'ada' });
    const missing = await remove(guildId, gameId);
    expect([missing.status, missing.body.details.code]).toEqual([404, 'NOT_FOUND']);
    await put(guildId, gameId);
    const removed = await remove(guildId, gameId, 'k');
    expect([removed.status, removed.body]).toEqual([
      200,
      { status: 'success', code: 200, message: 'Flag removed', data: { removed: true, game_id: gameId } },
    ]);
    expect((await remove(guildId, gameId, 'k')).body).toEqual(removed.body);
    expect((await remove(guildId, gameId)).status).toBe(404);
    expect(await check(guildId, gameId)).toMatchObject({ reason: 'Cheats', category: 'exploiter' });
    expect((await events(guildId)).map(({ type, source }) => [type, source.kind])).toEqual([
      ['shield.added', 'api_key'],
      ['shield.removed', 'api_key'],
    ]);
  });

  test('that an operator added to its list, and never one of another guild', async () => {
    const [guildId, gameId] = [newGuild(), newPlayer()];
    await admin.client.addEntry({ guildId, gameId, reason: 'Cheats', category: 'exploiter', actor: 'ada' });
    expect((await remove(newGuild(), gameId)).status).toBe(404);
    expect((await remove(guildId, gameId)).status).toBe(200);
    expect(await check(guildId, gameId)).toBeNull();
  });
});
