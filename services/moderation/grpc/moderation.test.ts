import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { unixSeconds } from '#kit/clock.ts';
import { ShieldAdminServiceService } from '#proto/gen/guild/moderation/v1/admin.ts';
import { ModerationServiceService } from '#proto/gen/guild/moderation/v1/moderation.ts';
import { connect, TEST_OPERATOR } from '#test/network/grpc.ts';
import { ADMIN_SECRET, GUILD, ModerationFixture, newGuild, newPlayer } from '../fixture.ts';

const fixture = new ModerationFixture();
let moderation: ReturnType<typeof connect<typeof ModerationServiceService>>;
let admin: ReturnType<typeof connect<typeof ShieldAdminServiceService>>;

beforeAll(async () => {
  await fixture.start();
  const address = fixture.moderation.addresses.grpc ?? '';
  moderation = connect(ModerationServiceService, 'moderation', address, fixture.clock);
  admin = connect(ShieldAdminServiceService, 'moderation', address, fixture.clock, [ADMIN_SECRET]);
});
afterAll(async () => {
  moderation.close();
  admin.close();
  await fixture.stop();
});

const now = () => unixSeconds(fixture.clock.now());
const faults = (code: string, ...paths: string[]) =>
  expect.objectContaining({
    code,
    details: { errors: paths.map((path) => expect.objectContaining({ path: `request.${path}` })) },
  });

describe('a dashboard', () => {
  const nothing = { guildId: GUILD, noCache: false };

  test('bans, reads and lifts as the REST routes do', async () => {
    const gameId = newPlayer();
    const asked = { guildId: GUILD, kind: 'ban', gameId, reason: 'R', replace: false };
    const { punishment } = await moderation.client.punish({
      ...asked,
      durationSeconds: 60,
      placeId: 9,
      moderatorChatId: '920000000000000001',
    });
    expect(punishment).toEqual({
      id: expect.any(Number),
      gameId,
      reason: 'R',
      moderatorChatId: '920000000000000001',
      placeId: 9,
      createdAt: now(),
      expiresAt: now() + 60,
    });
    await expect(moderation.client.punish({ ...asked, placeId: 9 })).rejects.toMatchObject({ code: 'CONFLICT' });
    await moderation.client.punish({ ...asked, kind: 'mute' });
    const { players } = await moderation.client.getStatus({ ...nothing, gameIds: [gameId, newPlayer()], placeId: 9 });
    expect(players).toMatchObject([
      { gameId, ban: punishment, mute: { reason: 'R' }, flagged: false },
      { ban: undefined, mute: undefined, flagged: false },
    ]);
    expect((await fixture.banStatus(gameId, '?place_id=9')).banned).toBe(true);
    const lifted = await moderation.client.lift({ guildId: GUILD, kind: 'ban', gameId, scope: 'place', placeId: 9 });
    expect(lifted.punishment).toEqual(punishment);
    await expect(moderation.client.lift({ guildId: GUILD, kind: 'ban', gameId })).rejects.toMatchObject({
      code: 'NOT_FOUND',
    });
  });

  test('is told every fault', async () => {
    const many = Array.from({ length: 26 }, newPlayer);
    await expect(moderation.client.getStatus({ guildId: '1', gameIds: many, noCache: false })).rejects.toEqual(
      faults('INVALID_REQUEST', 'guildId', 'gameIds'),
    );
    const wrong = { guildId: GUILD, kind: 'kick', gameId: 0, reason: '', durationSeconds: 0, replace: false };
    await expect(moderation.client.punish(wrong)).rejects.toEqual(
      faults('INVALID_REQUEST', 'kind', 'gameId', 'reason', 'durationSeconds'),
    );
    await expect(moderation.client.lift({ guildId: GUILD, kind: 'ban', gameId: 1, placeId: 5 })).rejects.toEqual(
      faults('INVALID_REQUEST', 'placeId'),
    );
  });

  test('may not change the flagged list', async () => {
    const address = fixture.moderation.addresses.grpc ?? '';
    const { client, close } = connect(ShieldAdminServiceService, 'moderation', address, fixture.clock);
    await expect(client.listEntries({ guildId: '', limit: 1, afterGameId: 0 })).rejects.toMatchObject({
      code: 'INTERNAL',
    });
    close();
  });
});

describe('the flagged list', () => {
  const entry = { reason: 'Sells items', category: 'scammer', actor: TEST_OPERATOR };
  const check = async (gameId: number, guildId: string) =>
    (await fixture.get(`/shield/check/${gameId}`, { guildId })).body;
  const isFlagged = async (gameId: number, guildId: string) => {
    const { body } = await fixture.post(`/moderation/${guildId}/game/status`, { game_ids: [gameId] }, { guildId });
    return body.data.results[gameId].flagged;
  };

  test('is empty until an operator adds to it', async () => {
    const guildId = newGuild();
    expect(await check(1, guildId)).toEqual({
      status: 'success',
      code: 200,
      message: 'Flagged list checked',
      data: { flagged: false, entry: null },
    });
    expect(await isFlagged(1, guildId)).toBe(false);
  });

  test("an entry counts at once in its guild, one for all in every guild; the guild's own is told", async () => {
    const [guildId, other] = [newGuild(), newGuild()];
    const gameId = newPlayer();
    for (const guild of [guildId, other]) expect(await isFlagged(gameId, guild)).toBe(false);
    await admin.client.addEntry({ guildId: '', gameId, ...entry, gameUsername: 'Ada' });
    const common = {
      game_id: gameId,
      game_username: 'Ada',
      reason: 'Sells items',
      category: 'scammer',
      source: 'operator',
      flagged_at: now(),
    };
    for (const guild of [guildId, other]) {
      expect((await check(gameId, guild)).data).toEqual({ flagged: true, entry: common });
      expect(await isFlagged(gameId, guild)).toBe(true);
    }
    await admin.client.addEntry({ guildId, gameId, ...entry, reason: 'Our own', source: 'partners' });
    expect((await check(gameId, guildId)).data.entry).toMatchObject({ reason: 'Our own', source: 'partners' });
    expect((await check(gameId, other)).data.entry).toEqual(common);
    await admin.client.removeEntry({ guildId: '', gameId, actor: 'ada' });
    expect([await isFlagged(gameId, guildId), await isFlagged(gameId, other)]).toEqual([true, false]);
    const { entry: removed } = await admin.client.removeEntry({ guildId, gameId, actor: 'ada' });
    expect(removed).toMatchObject({ guildId, gameId, reason: 'Our own' });
    expect(await isFlagged(gameId, guildId)).toBe(false);
  });

  test('entries end with their time, and adding again replaces', async () => {
    const guildId = newGuild();
    const gameId = newPlayer();
    await admin.client.addEntry({ guildId, gameId, ...entry, expiresAt: now() + 10 });
    expect(await isFlagged(gameId, guildId)).toBe(true);
    await fixture.advance(10_000);
    expect([await isFlagged(gameId, guildId), (await check(gameId, guildId)).data.flagged]).toEqual([false, false]);
    await admin.client.addEntry({ guildId, gameId, ...entry, category: 'exploiter' });
    expect((await check(gameId, guildId)).data.entry.category).toBe('exploiter');
    const { entries } = await admin.client.listEntries({ guildId, limit: 10, afterGameId: 0 });
    expect(entries).toEqual([
      {
        guildId,
        gameId,
        reason: 'Sells items',
        category: 'exploiter',
        source: 'operator',
        flaggedAt: now(),
        actor: TEST_OPERATOR,
      },
    ]);
  });

  test('is listed page by page, for one guild or for all', async () => {
    const guildId = newGuild();
    for (const gameId of [3, 1, 2]) await admin.client.addEntry({ guildId, gameId, ...entry });
    const pageAfter = async (afterGameId: number) =>
      (await admin.client.listEntries({ guildId, limit: 2, afterGameId })).entries.map(({ gameId }) => gameId);
    expect([await pageAfter(0), await pageAfter(2), await pageAfter(3)]).toEqual([[1, 2], [3], []]);
    const { entries } = await admin.client.listEntries({ guildId: '', limit: 1000, afterGameId: 0 });
    expect(entries.every((one) => one.guildId === '')).toBe(true);
  });

  test('a batch of up to 25 is answered by ID', async () => {
    const guildId = newGuild();
    await admin.client.addEntry({ guildId, gameId: 5, ...entry });
    const batch = (body: unknown) => fixture.post('/shield/batch', body, { guildId });
    const answer = await batch({ guild_id: guildId, game_ids: [5, '6', 5] });
    expect(answer.body).toEqual({
      status: 'success',
      code: 200,
      message: 'Flagged list checked',
      data: {
        results: {
          '5': { game_id: 5, game_username: null, ...entry, actor: undefined, source: 'operator', flagged_at: now() },
          '6': null,
        },
      },
    });
    expect((await batch({ guild_id: guildId, game_ids: [] })).body.data).toEqual({ results: {} });
    const faulty = await batch({ game_ids: Array.from({ length: 26 }, newPlayer) });
    const paths = faulty.body.details.errors.map(({ path }: { path: string }) => path);
    expect([faulty.status, paths]).toEqual([400, ['body.guild_id', 'body.game_ids']]);
    expect((await fixture.get('/shield/check/x', { guildId })).status).toBe(400);
  });

  test('refuses what is no entry, and removing what is not there', async () => {
    const wrong = { guildId: '5', gameId: 0, reason: '', category: '', source: '', expiresAt: now(), actor: '' };
    await expect(admin.client.addEntry(wrong)).rejects.toEqual(
      faults('INVALID_REQUEST', 'guild_id', 'game_id', 'reason', 'category', 'source', 'expires_at', 'actor'),
    );
    const none = { guildId: newGuild(), gameId: 5, actor: 'ada' };
    await expect(admin.client.removeEntry(none)).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });
});
