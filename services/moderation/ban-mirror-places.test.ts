import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { newGuild, newPlayer } from './fixture.ts';
import { MirrorFixture } from './fixtures/mirror.ts';

const HOUR = 3_600_000;
const fixture = new MirrorFixture();
beforeAll(async () => {
  await fixture.start();
});
afterAll(() => fixture.stop());

let guildId: string;
let universe: number;
let player: number;
let lastUniverse = 40_000;
beforeEach(async () => {
  guildId = newGuild();
  universe = ++lastUniverse;
  player = newPlayer();
  // The universes of earlier tests would be read whenever time passes.
  await fixture.rows('DELETE FROM moderation.mirrored_universes');
  await fixture.mirror({ guildId, universeIds: [universe], excludeAlts: true });
  await fixture.settle();
});

/** The player's restriction in a universe or place; undefined if there was never one. */
async function restrictionOf(at = universe, place: number | null = null) {
  const all = await fixture.restrictions();
  return all.find(
    (one) => one.user === String(player) && one.universe === String(at) && one.place === (place && String(place)),
  );
}

/** The types of the guild's events about the player, the oldest first. */
async function eventsOf(): Promise<string[]> {
  const rows = await fixture.rows<{ type: string; source: { id: string } }>(
    `SELECT type, source FROM moderation.events WHERE guild_id = $1 ORDER BY number`,
    [guildId],
  );
  return rows.map(({ type, source }) => `${type} by ${source.id}`);
}

describe('a place of another universe', () => {
  const UNKNOWN = { status: 404, body: { code: 'NOT_FOUND' } };
  const foreignHours = async () => {
    const rows = await fixture.rows<{ hours: number | null }>(
      `SELECT round(extract(epoch FROM foreign_until - clock_timestamp()) / 3600)::int AS hours
       FROM moderation.restrictions WHERE guild_id = $1 AND place_id = 41 ORDER BY universe_id`,
      [guildId],
    );
    return rows.map(({ hours }) => hours);
  };

  test('is tried once a day, and never reported as a difference', async () => {
    const other = ++lastUniverse;
    await fixture.mirror({ guildId, universeIds: [universe, other], excludeAlts: false });
    await fixture.settle();
    await fixture.fault({ match: `/universes/${other}/places/41`, ...UNKNOWN });
    await fixture.ban(guildId, player, { placeId: 41 });
    await fixture.settle();
    expect(await foreignHours()).toEqual([null, 24]);
    const lastTries: (number | null | undefined)[] = [];
    for (let nights = 0; nights < 10; nights++) {
      await fixture.advance(24 * HOUR);
      await fixture.settle();
      lastTries.push((await foreignHours())[1]);
    }
    // It was tried in some nights: its time would be days ago otherwise.
    expect(lastTries.filter((hours) => Number(hours) > 0).length).toBeGreaterThanOrEqual(4);
    expect(await eventsOf()).toEqual(['ban.created by moderation']);
    expect(await restrictionOf(universe, 41)).toMatchObject({ active: true });
    await fixture.repair();
  });

  test('that turns out to be one of this universe is mirrored the next day', async () => {
    await fixture.fault({ match: `/universes/${universe}/places/41`, ...UNKNOWN });
    await fixture.ban(guildId, player, { placeId: 41 });
    await fixture.settle();
    expect(await foreignHours()).toEqual([24]);
    await fixture.repair();
    await fixture.advance(54 * HOUR);
    await fixture.settle();
    expect(await restrictionOf(universe, 41)).toMatchObject({ active: true });
    expect(await eventsOf()).toEqual(['ban.created by moderation']);
  });

  test.each([400, 422])('is not assumed after a rejection with %i, which is retried and reported', async (status) => {
    const body = { code: 'INVALID_ARGUMENT', message: 'duration is wrong' };
    await fixture.fault({ match: `/universes/${universe}/places/41`, status, body });
    await fixture.ban(guildId, player, { placeId: 41 });
    await fixture.runTasks();
    const [task] = await fixture.rows<{ last_error: string }>(
      `SELECT last_error FROM moderation.restriction_tasks WHERE guild_id = $1 AND state = 'queued'`,
      [guildId],
    );
    expect(task?.last_error).toContain(`${status}: duration is wrong`);
    expect(await foreignHours()).not.toEqual([24]);
    await fixture.repair();
    await fixture.settle();
    expect(await restrictionOf(universe, 41)).toMatchObject({ active: true });
  });
});
