import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { newGuild, newPlayer } from './fixture.ts';
import { MINUTE, MirrorFixture } from './fixtures/mirror.ts';

const HOUR = 3_600_000;
const fixture = new MirrorFixture();
beforeAll(async () => {
  await fixture.start();
});
afterAll(() => fixture.stop());

let guildId: string;
let universe: number;
let player: number;
let lastUniverse = 30_000;
beforeEach(async () => {
  guildId = newGuild();
  universe = ++lastUniverse;
  player = newPlayer();
  // The universes of earlier tests would be read whenever time passes.
  await fixture.rows('DELETE FROM moderation.mirrored_universes');
  await fixture.mirror({ guildId, universeIds: [universe], excludeAlts: true });
  await fixture.settle();
});

/** The restriction of a player in a universe or place; undefined if there was never one. */
async function restrictionOf(at = universe, place: number | null = null, user = player) {
  const all = await fixture.restrictions();
  return all.find(
    (one) => one.user === String(user) && one.universe === String(at) && one.place === (place && String(place)),
  );
}

/** The bans in force of the player. */
const bansOf = (gameId = player) =>
  fixture.rows<{ place_id: number; reason: string; seconds: number | null }>(
    `SELECT place_id, reason, CASE WHEN expires_at < 'infinity'
       THEN round(extract(epoch FROM expires_at - clock_timestamp()))::int END AS seconds
     FROM moderation.punishments WHERE guild_id = $1 AND game_id = $2 AND kind = 'ban' AND ended_at IS NULL
       AND expires_at > clock_timestamp() ORDER BY place_id`,
    [guildId, gameId],
  );

/** The types of the guild's events about the player, the oldest first. */
async function eventsOf(): Promise<string[]> {
  const rows = await fixture.rows<{ type: string; source: { id: string } }>(
    `SELECT type, source FROM moderation.events WHERE guild_id = $1 ORDER BY number`,
    [guildId],
  );
  return rows.map(({ type, source }) => `${type} by ${source.id}`);
}

describe('a ban of the guild', () => {
  test('becomes a restriction of the universe, with its reason, its end and the setting for other accounts', async () => {
    await fixture.ban(guildId, player, { reason: 'Speed hacks', durationSeconds: 7_200 });
    await fixture.runTasks();
    expect(await restrictionOf()).toMatchObject({
      active: true,
      seconds: 7_200,
      displayReason: 'Speed hacks',
      privateReason: expect.stringMatching(/^Speed hacks \[guild-data [0-9]+ 1 [0-9a-f]{8}\]$/),
      excludeAltAccounts: true,
    });
  });

  test('of a place becomes a restriction of the place alone', async () => {
    await fixture.ban(guildId, player, { placeId: 41 });
    await fixture.runTasks();
    expect(await restrictionOf(universe, 41)).toMatchObject({ active: true, seconds: null });
    expect(await restrictionOf()).toBeUndefined();
  });

  test('becomes a restriction of every universe of the guild', async () => {
    const other = ++lastUniverse;
    await fixture.mirror({ guildId, universeIds: [universe, other], excludeAlts: false });
    await fixture.settle();
    await fixture.ban(guildId, player);
    await fixture.runTasks();
    expect([await restrictionOf(), await restrictionOf(other)]).toMatchObject([{ active: true }, { active: true }]);
  });

  test('that is lifted ends the restriction', async () => {
    await fixture.ban(guildId, player);
    await fixture.runTasks();
    await fixture.unban(guildId, player);
    await fixture.runTasks();
    expect(await restrictionOf()).toMatchObject({ active: false });
  });

  test('that expires needs no write: the restriction ends by itself', async () => {
    await fixture.ban(guildId, player, { durationSeconds: 3_600 });
    await fixture.runTasks();
    const writes = await fixture.writes();
    await fixture.advance(HOUR + 5_000);
    await fixture.settle();
    expect(await restrictionOf()).toMatchObject({ active: false });
    expect(await bansOf()).toEqual([]);
    expect(await fixture.writes()).toBe(writes);
  });

  test('that changes three times in a minute is written twice, and once more when the platform allows it', async () => {
    const before = await fixture.writes();
    await fixture.ban(guildId, player);
    await fixture.runTasks();
    await fixture.unban(guildId, player);
    await fixture.runTasks();
    await fixture.ban(guildId, player, { reason: 'Third change' });
    await fixture.runTasks();
    expect((await fixture.writes()) - before).toBe(2);
    expect(await restrictionOf()).toMatchObject({ active: false });
    await fixture.advance(MINUTE);
    await fixture.runTasks();
    expect((await fixture.writes()) - before).toBe(3);
    expect(await restrictionOf()).toMatchObject({ active: true, displayReason: 'Third change' });
  });

  test('is not mirrored by a guild that mirrors no bans', async () => {
    const other = newGuild();
    await fixture.ban(other, player);
    await fixture.runTasks();
    expect(await restrictionOf()).toBeUndefined();
    expect(await fixture.rows('SELECT FROM moderation.restriction_tasks WHERE guild_id = $1', [other])).toEqual([]);
  });

  test('in a universe that another guild mirrors to is not mirrored', async () => {
    const other = newGuild();
    expect(await fixture.mirror({ guildId: other, universeIds: [universe], excludeAlts: true })).toEqual([universe]);
    await fixture.ban(other, player);
    await fixture.settle();
    expect(await restrictionOf()).toBeUndefined();
  });
});

describe('a restriction that was made on the platform', () => {
  test('becomes a ban, with its reason and its end, and is not written back', async () => {
    const before = await fixture.writes();
    const restriction = { universe, user: player, duration_seconds: 7_200, private_reason: 'Case 7' };
    await fixture.restrict(restriction);
    await fixture.advance(30_000);
    await fixture.runAll();
    expect(await bansOf()).toEqual([{ place_id: 0, reason: 'Case 7', seconds: 7_170 }]);
    expect(await eventsOf()).toEqual(['ban.created by game-platform']);
    await fixture.advance(MINUTE);
    await fixture.settle();
    expect(await fixture.writes()).toBe(before);
  });

  test('in a place becomes a ban of the place', async () => {
    await fixture.restrict({ universe, user: player, place: 41, display_reason: 'Spam' });
    await fixture.advance(30_000);
    await fixture.runAll();
    expect(await bansOf()).toEqual([{ place_id: 41, reason: 'Spam', seconds: null }]);
  });

  test('is mirrored to the other universes of the guild', async () => {
    const other = ++lastUniverse;
    await fixture.mirror({ guildId, universeIds: [universe, other], excludeAlts: true });
    await fixture.settle();
    await fixture.restrict({ universe, user: player });
    await fixture.settle();
    expect(await restrictionOf(other)).toMatchObject({ active: true });
  });

  test('replaces the ban if it is another one', async () => {
    await fixture.ban(guildId, player, { durationSeconds: 7_200 });
    await fixture.runTasks();
    await fixture.restrict({ universe, user: player, private_reason: 'Now for ever' });
    await fixture.settle();
    expect(await bansOf()).toEqual([{ place_id: 0, reason: 'Now for ever', seconds: null }]);
    expect(await eventsOf()).toEqual([
      'ban.created by moderation',
      'ban.lifted by game-platform',
      'ban.created by game-platform',
    ]);
  });

  test('and lifted there lifts the ban', async () => {
    await fixture.ban(guildId, player);
    await fixture.runTasks();
    await fixture.restrict({ universe, user: player, active: false });
    await fixture.settle();
    expect(await bansOf()).toEqual([]);
    expect(await restrictionOf()).toMatchObject({ active: false });
  });

  test('before the guild began to mirror is imported, without a report of a difference', async () => {
    const [late, newUniverse] = [newGuild(), ++lastUniverse];
    await fixture.restrict({ universe: newUniverse, user: player });
    await fixture.mirror({ guildId: late, universeIds: [newUniverse], excludeAlts: true });
    await fixture.settle();
    guildId = late;
    expect(await bansOf()).toMatchObject([{ place_id: 0 }]);
    expect(await eventsOf()).toEqual(['ban.created by game-platform']);
  });
});

describe('a write whose response is lost', () => {
  test('is not taken for a decision of the platform', async () => {
    await fixture.fault({ match: `/universes/${universe}/user-restrictions/${player}?`, truncate: true, times: 1 });
    await fixture.ban(guildId, player);
    await fixture.settle();
    expect(await restrictionOf()).toMatchObject({ active: true });
    expect(await bansOf()).toMatchObject([{ reason: 'Cheats' }]);
    expect(await eventsOf()).toEqual(['ban.created by moderation']);
    await fixture.repair();
  });

  test('and that comes into force after a newer one does not win', async () => {
    await fixture.ban(guildId, player, { reason: 'First' });
    await fixture.runTasks();
    const first = await restrictionOf();
    await fixture.unban(guildId, player);
    await fixture.runTasks();
    // As if the platform carried out the first write again.
    await fixture.restrict({ universe, user: player, private_reason: first?.privateReason });
    await fixture.settle();
    expect(await restrictionOf()).toMatchObject({ active: false });
    expect(await bansOf()).toEqual([]);
  });
});

test('a comparison of all bans mirrors bans again whose restrictions the platform has lost, and lifts none', async () => {
  const others = [newPlayer(), newPlayer()];
  for (const banned of [player, ...others]) await fixture.ban(guildId, banned);
  await fixture.runTasks();
  await fixture.loseRestrictions();
  await fixture.advance(24 * HOUR + 6 * HOUR);
  await fixture.settle();
  for (const banned of [player, ...others]) {
    expect(await restrictionOf(universe, null, banned)).toMatchObject({ active: true });
  }
  expect(await bansOf()).toHaveLength(1);
  expect(await eventsOf()).toEqual(expect.not.arrayContaining(['ban.lifted by game-platform']));
});

test('a comparison of all bans finds what the log does not show, reports it once and makes it equal', async () => {
  await fixture.ban(guildId, player);
  await fixture.runTasks();
  // As if the entries of the log were lost.
  await fixture.restrict({ universe, user: player, active: false });
  await fixture.rows(
    `UPDATE moderation.mirrored_universes SET log_read_to = clock_timestamp() + interval '1 day' WHERE guild_id = $1`,
    [guildId],
  );
  await fixture.advance(MINUTE);
  await fixture.runAll();
  expect(await bansOf()).toHaveLength(1);
  await fixture.advance(24 * HOUR + 6 * HOUR);
  await fixture.settle();
  expect(await bansOf()).toEqual([]);
  expect(await eventsOf()).toEqual([
    'ban.created by moderation',
    'ban.drifted by moderation',
    'ban.lifted by game-platform',
  ]);
  const [row] = await fixture.rows('SELECT compared, drifted FROM moderation.mirrored_universes WHERE guild_id = $1', [
    guildId,
  ]);
  expect(row).toEqual({ compared: 1, drifted: 1 });
  await fixture.advance(24 * HOUR);
  await fixture.settle();
  expect(await eventsOf()).toHaveLength(3);
});
