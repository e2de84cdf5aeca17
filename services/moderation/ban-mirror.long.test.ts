// Whatever is decided on both sides, and whichever side is down, both end with the same bans, and then nothing is written.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { amount } from '#test/measure/bounds.ts';
import { seededRandom, wholeNumber } from '#test/random.ts';
import { newGuild, newPlayer } from './fixture.ts';
import { MirrorFixture } from './fixtures/mirror.ts';

const HISTORIES = amount(2, 60);
const STEPS = 25;
const PLAYERS = 2;
const PLACE = 41;
const HOUR = 3_600_000;
const DURATIONS = [null, 45, 600, 3_600, 86_400];
/** How far the ends of a ban and its restriction may be apart, in milliseconds. */
const CLOSE_MS = 60_000;

const fixture = new MirrorFixture();
beforeAll(async () => {
  await fixture.start();
});
afterAll(() => fixture.stop());

interface History {
  guildId: string;
  universes: number[];
  players: number[];
  random: () => number;
}

const pick = <Item>(random: () => number, items: readonly Item[]) => items[wholeNumber(random, items.length)] as Item;

/** What can happen, each with its share. */
const STEPS_BY_NAME: Record<string, (history: History) => Promise<unknown>> = {
  ban: ({ guildId, players, random }) =>
    fixture.ban(guildId, pick(random, players), {
      placeId: pick(random, [null, null, PLACE]),
      durationSeconds: pick(random, DURATIONS),
    }),
  unban: ({ guildId, players, random }) =>
    fixture.unban(guildId, pick(random, players), pick(random, [null, null, PLACE])),
  restrict: (history) => changeThere(history, true),
  release: (history) => changeThere(history, false),
  run: () => fixture.runAll(),
  runTasks: () => fixture.runTasks(),
  wait: ({ random }) => fixture.advance(pick(random, [1_000, 30_000, 90_000, 600_000])),
  // The platform is down while decisions are made here.
  platformDown: async (history) => {
    await fixture.fault({ match: '/cloud/v2', status: 503 });
    await decideHere(history);
    await fixture.runAll();
    await fixture.advance(HOUR);
    await fixture.runAll();
    await decideHere(history);
    await fixture.repair();
  },
  // Nothing here runs while decisions are made on the platform.
  serviceDown: async (history) => {
    await changeThere(history, true);
    await fixture.advance(HOUR);
    await changeThere(history, history.random() < 0.5);
    await fixture.restart();
  },
  // The platform carries out a write, and its response is lost.
  responseLost: async (history) => {
    await fixture.fault({ match: '/user-restrictions/', truncate: true, times: 2 });
    await decideHere(history);
    await fixture.runAll();
    await fixture.repair();
  },
};

async function decideHere(history: History): Promise<void> {
  await STEPS_BY_NAME[pick(history.random, ['ban', 'unban'])]?.(history);
}

async function changeThere({ universes, players, random }: History, isActive: boolean): Promise<void> {
  await fixture.restrict({
    universe: pick(random, universes),
    user: pick(random, players),
    place: pick(random, [null, null, PLACE]),
    active: isActive,
    duration_seconds: isActive ? pick(random, DURATIONS) : null,
    private_reason: pick(random, ['', 'Case 7']),
  });
}

type Ends = Record<string, number>;

/** When the bans in force end here, by universe, place and player. */
async function bansOf({ guildId, universes }: History): Promise<Ends> {
  const rows = await fixture.rows<{ gameId: number; placeId: number; endsAt: Date | null }>(
    `SELECT game_id AS "gameId", place_id AS "placeId", NULLIF(expires_at, 'infinity') AS "endsAt"
     FROM moderation.punishments
     WHERE guild_id = $1 AND kind = 'ban' AND ended_at IS NULL AND expires_at > clock_timestamp()`,
    [guildId],
  );
  const ends = universes.flatMap((universe) =>
    rows.map(({ gameId, placeId, endsAt }) => [`${universe} ${placeId} ${gameId}`, endsAt?.getTime() ?? Infinity]),
  );
  return Object.fromEntries(ends) as Ends;
}

/** When the restrictions in force end on the platform. */
async function restrictionsOf({ universes }: History): Promise<Ends> {
  const all = await fixture.restrictions();
  const active = all.filter(({ active, universe }) => active && universes.includes(Number(universe)));
  return Object.fromEntries(
    active.map(({ universe, place, user, startTime, seconds }) => [
      `${universe} ${place ?? 0} ${user}`,
      seconds === null ? Infinity : startTime + seconds * 1_000,
    ]),
  );
}

/** The ends, without those of the next minute, and rounded so that close ones are equal. */
function comparable(ends: Ends, others: Ends): Ends {
  const now = fixture.clock.now();
  const entries = Object.entries(ends).filter(([, end]) => end > now + CLOSE_MS);
  return Object.fromEntries(
    entries.map(([scope, end]) => {
      const other = others[scope];
      return [scope, other !== undefined && Math.abs(end - other) < CLOSE_MS ? other : end];
    }),
  );
}

async function expectEqual(history: History): Promise<void> {
  const [here, there] = [await bansOf(history), await restrictionsOf(history)];
  expect(comparable(here, there)).toEqual(comparable(there, {}));
}

test.each(Array.from({ length: HISTORIES }, (_, seed) => seed))(
  'random decisions on both sides end with the same bans on both, and then nothing is written (seed %i)',
  async (seed) => {
    const random = seededRandom(seed);
    const history = {
      guildId: newGuild(),
      universes: Array.from({ length: 1 + wholeNumber(random, 2) }, (_, index) => 1_000 * (seed + 1) + index),
      players: Array.from({ length: PLAYERS }, newPlayer),
      random,
    };
    const { guildId, universes: universeIds } = history;
    await fixture.rows('DELETE FROM moderation.mirrored_universes');
    await fixture.mirror({ guildId, universeIds, excludeAlts: false });
    const decisionsBefore = await fixture.writes();
    for (let step = 0; step < STEPS; step++) await STEPS_BY_NAME[pick(random, Object.keys(STEPS_BY_NAME))]?.(history);
    await fixture.settle();
    await expectEqual(history);
    // Each decision is written at most once to each universe and place, and once more if its response was lost.
    expect((await fixture.writes()) - decisionsBefore).toBeLessThanOrEqual(3 * STEPS * universeIds.length);
    const written = await fixture.writes();
    const logged = await logOf(guildId);
    for (let nights = 0; nights < 2; nights++) {
      await fixture.advance(24 * HOUR);
      await fixture.settle();
    }
    expect(await fixture.writes()).toBe(written);
    expect(await logOf(guildId)).toBe(logged);
    await expectEqual(history);
  },
);

/** The number of decisions in the guild's log. */
async function logOf(guildId: string): Promise<number> {
  const [row] = await fixture.rows<{ entries: number }>(
    'SELECT count(*)::int AS entries FROM moderation.log WHERE guild_id = $1',
    [guildId],
  );
  return row?.entries ?? 0;
}
