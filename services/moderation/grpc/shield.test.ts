import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { unixSeconds } from '#kit/clock.ts';
import { ShieldAdminServiceService } from '#proto/gen/guild/moderation/v1/admin.ts';
import { connect, TEST_OPERATOR } from '#test/network/grpc.ts';
import { ADMIN_SECRET, ModerationFixture, newGuild, newPlayer } from '../fixture.ts';

const fixture = new ModerationFixture();
let admin: ReturnType<typeof connect<typeof ShieldAdminServiceService>>;

beforeAll(async () => {
  await fixture.start();
  const address = fixture.moderation.addresses.grpc ?? '';
  admin = connect(ShieldAdminServiceService, 'moderation', address, fixture.clock, [ADMIN_SECRET]);
});
afterAll(async () => {
  admin.close();
  await fixture.stop();
});

const now = () => unixSeconds(fixture.clock.now());
const faults = (code: string, ...paths: string[]) =>
  expect.objectContaining({
    code,
    details: { errors: paths.map((path) => expect.objectContaining({ path: `request.${path}` })) },
  });

describe('the flagged list', () => {
  const entry = { reason: 'Sells items', category: 'scammer', actor: TEST_OPERATOR };
  const check = async (gameId: number, guildId: string) =>
    (await fixture.get(`/shield/check/${gameId}`, { guildId })).body;
  const isFlagged = async (gameId: number, guildId: string) => {
    const { body } = await fixture.post(`/moderation/${guildId}/game/status`, { game_ids: [gameId] }, { guildId });
    return body.data.results[gameId].flagged;
  };

  test('is empty until an operator adds an entry', async () => {
    const guildId = newGuild();
    expect(await check(1, guildId)).toEqual({
      status: 'success',
      code: 200,
      message: 'Flagged list checked',
      data: { flagged: false, entry: null },
    });
    expect(await isFlagged(1, guildId)).toBe(false);
  });

  test("an entry counts immediately in its guild, or in every guild; the guild's own entry is shown", async () => {
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

  test('entries expire, and adding one again replaces it', async () => {
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

  test('is listed in pages, for one guild or for all guilds', async () => {
    const guildId = newGuild();
    for (const gameId of [3, 1, 2]) await admin.client.addEntry({ guildId, gameId, ...entry });
    const pageAfter = async (afterGameId: number) =>
      (await admin.client.listEntries({ guildId, limit: 2, afterGameId })).entries.map(({ gameId }) => gameId);
    expect([await pageAfter(0), await pageAfter(2), await pageAfter(3)]).toEqual([[1, 2], [3], []]);
    const { entries } = await admin.client.listEntries({ guildId: '', limit: 1000, afterGameId: 0 });
    expect(entries.every((one) => one.guildId === '')).toBe(true);
  });

  test('a batch of up to 25 players returns an entry by ID', async () => {
    const guildId = newGuild();
    await admin.client.addEntry({ guildId, gameId: 5, ...entry });
    const batch = (body: unknown) => fixture.post('/shield/batch', body, { guildId });
    const response = await batch({ guild_id: guildId, game_ids: [5, '6', 5] });
    expect(response.body).toEqual({
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

  test('reports every fault of an entry, and 404 for removing an unknown one', async () => {
    const invalid = { guildId: '5', gameId: 0, reason: '', category: '', source: '', expiresAt: now(), actor: '' };
    await expect(admin.client.addEntry(invalid)).rejects.toEqual(
      faults('INVALID_REQUEST', 'guild_id', 'game_id', 'reason', 'category', 'source', 'expires_at', 'actor'),
    );
    const unknown = { guildId: newGuild(), gameId: 5, actor: 'ada' };
    await expect(admin.client.removeEntry(unknown)).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });
});
