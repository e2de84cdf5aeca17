import { afterAll, beforeAll, expect, test } from 'vitest';
import { unixSeconds } from '#kit/clock.ts';
import { encodeCursor } from '#kit/http/cursor.ts';
import { ErasureServiceService } from '#proto/gen/guild/common/v1/erasure.ts';
import { ShieldAdminServiceService } from '#proto/gen/guild/moderation/v1/admin.ts';
import { connect } from '#test/network/grpc.ts';
import { ADMIN_SECRET, ModerationFixture, newGuild, newPlayer } from './fixture.ts';

const fixture = new ModerationFixture();
let shield: ReturnType<typeof connect<typeof ShieldAdminServiceService>>;
let erasure: ReturnType<typeof connect<typeof ErasureServiceService>>;
beforeAll(async () => {
  await fixture.start();
  const address = fixture.moderation.addresses.grpc ?? '';
  shield = connect(ShieldAdminServiceService, 'moderation', address, fixture.clock, [ADMIN_SECRET]);
  erasure = connect(ErasureServiceService, 'moderation', address, fixture.clock, [ADMIN_SECRET]);
});
afterAll(async () => {
  shield.close();
  erasure.close();
  await fixture.stop();
});

const now = () => unixSeconds(fixture.clock.now());
const list = (guildId: string, query = '') => fixture.get(`/guilds/${guildId}/shield${query}`, { guildId });
const idsOf = (data: { flags: { game_id: number }[] }) => data.flags.map(({ game_id: id }) => id);
const listedIds = async (guildId: string) => idsOf((await list(guildId)).body.data);

async function flag(guildId: string, gameId: number, body: object = {}) {
  const path = `/guilds/${guildId}/shield/${gameId}`;
  const { status, body: response } = await fixture.put(
    path,
    { reason: 'Spam', category: 'spam', ...body },
    { guildId },
  );
  expect(status).toBe(200);
  return response.data;
}

/** Reads all pages of a list, and calls `afterPage` after each. */
async function readAll(guildId: string, limit: number, afterPage = async () => {}): Promise<number[]> {
  const found: number[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const { body } = await list(guildId, `?limit=${limit}${cursor && `&cursor=${cursor}`}`);
    expect(body.data.flags.length).toBeLessThanOrEqual(limit);
    found.push(...idsOf(body.data));
    cursor = body.data.next_cursor;
    await afterPage();
  }
  return found;
}

async function expectFault(guildId: string, query: string, path: string): Promise<void> {
  const { status, body } = await list(guildId, query);
  expect([status, body.details.errors.map((fault: { path: string }) => fault.path)]).toEqual([400, [path]]);
}

test('the list holds the entries of the guild as they were returned when they were made, ordered by game ID', async () => {
  const guildId = newGuild();
  const [first, second] = [newPlayer(), newPlayer()];
  const entries = [
    await flag(guildId, second, { game_username: 'Ada' }),
    await flag(guildId, first, { expires_at: now() + 60 }),
  ];
  const response = await list(guildId);
  expect([response.status, response.body]).toEqual([
    200,
    {
      status: 'success',
      code: 200,
      message: 'Flags listed',
      data: { flags: entries.toReversed(), next_cursor: null },
    },
  ]);
});

test('the list is empty, not missing, if the guild has flagged nobody', async () => {
  const { status, body } = await list(newGuild());
  expect([status, body.data]).toEqual([200, { flags: [], next_cursor: null }]);
});

test('the list has entries that operators made for this guild, and none of other guilds or for all guilds', async () => {
  const [guildId, gameId] = [newGuild(), newPlayer()];
  const entry = { reason: 'Cheats', category: 'exploiter', actor: 'ada' };
  await shield.client.addEntry({ ...entry, guildId, gameId });
  await shield.client.addEntry({ ...entry, guildId: '', gameId: newPlayer() });
  await flag(newGuild(), newPlayer());
  expect(await listedIds(guildId)).toEqual([gameId]);
  const { body } = await list(guildId);
  expect(JSON.stringify(body)).not.toContain('ada');
});

test('the guild of the signed principal decides which list is read, not the path', async () => {
  const [guildId, other] = [newGuild(), newGuild()];
  const gameId = newPlayer();
  await flag(guildId, gameId);
  const { body } = await fixture.get(`/guilds/${guildId}/shield`, { guildId: other });
  expect(JSON.stringify(body)).not.toContain(String(gameId));
});

test('an entry is left out from the moment at which it expires', async () => {
  const [guildId, gameId] = [newGuild(), newPlayer()];
  await flag(guildId, newPlayer(), { expires_at: now() + 60 });
  await flag(guildId, gameId);
  await fixture.advance(60_000);
  expect(await listedIds(guildId)).toEqual([gameId]);
  // A page is full although expired entries lie before it.
  expect(await readAll(guildId, 1)).toEqual([gameId]);
});

test('an entry of an erased player is no longer in the list, and neither are those of an erased guild', async () => {
  const [guildId, erased, kept] = [newGuild(), newPlayer(), newPlayer()];
  await flag(guildId, erased, { game_username: 'Ada' });
  await flag(guildId, kept);
  await erasure.client.eraseUser({ guildId, gameId: erased, dryRun: false });
  expect(await listedIds(guildId)).toEqual([kept]);
  await erasure.client.eraseGuild({ guildId, dryRun: false });
  expect(await listedIds(guildId)).toEqual([]);
});

test('pages have every entry once, also those of one millisecond, while entries are removed and added', async () => {
  const guildId = newGuild();
  const players = Array.from({ length: 7 }, newPlayer);
  for (const gameId of players) await flag(guildId, gameId);
  expect(await readAll(guildId, 3)).toEqual(players);
  expect(await readAll(guildId, 7)).toEqual(players);
  const changed = async () => {
    await fixture.delete(`/guilds/${guildId}/shield/${players[1]}`, { guildId });
    await flag(guildId, players[0] ?? 0, { reason: 'Again' });
  };
  expect(await readAll(guildId, 2, changed)).toEqual(players);
});

test('a cursor of another guild, of another list, and one with a made-up position are a 400', async () => {
  const [guildId, other] = [newGuild(), newGuild()];
  for (const gameId of [newPlayer(), newPlayer()]) await flag(guildId, gameId);
  const { next_cursor: cursor } = (await list(guildId, '?limit=1')).body.data;
  expect((await list(guildId, `?limit=1&cursor=${cursor}`)).status).toBe(200);
  await expectFault(other, `?cursor=${cursor}`, 'query.cursor');
  await expectFault(guildId, `?cursor=${encodeCursor({ route: 'log', guildId }, '7')}`, 'query.cursor');
  for (const position of ['x', '-1', '0', '', '99999999999999999', "1' OR true"]) {
    await expectFault(guildId, `?cursor=${encodeCursor({ route: 'flags', guildId }, position)}`, 'query.cursor');
  }
});

test('a limit outside of 1 to 100 and a malformed guild are a 400', async () => {
  const guildId = newGuild();
  for (const limit of ['0', '101', 'x', '1.5']) await expectFault(guildId, `?limit=${limit}`, 'query.limit');
  const { status } = await fixture.get('/guilds/x/shield', { guildId });
  expect(status).toBe(400);
});
