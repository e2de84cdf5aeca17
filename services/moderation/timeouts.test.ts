import { pino } from 'pino';
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { systemClock } from '#kit/clock.ts';
import { type Database, openDatabase } from '#kit/postgres/pool.ts';
import { Metrics } from '#kit/telemetry/metrics.ts';
import { ModerationFixture, newGuild, newPlayer } from './fixture.ts';
import { ChatTimeouts } from './fixtures/chat-timeouts.ts';
import { insertPunishment, lockUser } from './store/decisions.ts';
import { TIMEOUT_TASKS } from './store/mirror-tasks.ts';

const PATIENT = { timeout: 15_000, interval: 50 };
const HOUR_MS = 3_600_000;
const HISTORY = 40;

const chat = new ChatTimeouts();
const fixture = new ModerationFixture(systemClock);
let guildId: string;
let database: Database;

beforeAll(async () => {
  await chat.start();
  await fixture.start(chat.environment);
  const { url } = fixture.database;
  database = openDatabase({ url, poolMax: 2, name: 'test', metrics: new Metrics(), log: pino({ level: 'silent' }) });
});
afterAll(async () => {
  await database.close();
  await fixture.stop();
  await chat.stop();
});
beforeEach(async () => {
  guildId = newGuild();
  chat.isDown = false;
  await turnOn(guildId);
});

const isOn = async (guild: string) =>
  (await fixture.query('SELECT FROM moderation.timeout_guilds WHERE guild_id = $1', [guild])).length > 0;

/** A guild turns the mirror on, and moderation has read it. */
async function turnOn(guild: string): Promise<void> {
  chat.guilds.add(guild);
  await vi.waitUntil(() => isOn(guild), PATIENT);
}

const decide = (action: string, gameId: number, fields: object = {}) =>
  fixture.decide(action, { game_id: gameId, ...fields }, { guildId });

/** The end of a player's mute in Unix milliseconds, 0 without one. */
async function muteOf(gameId: number): Promise<number> {
  const { body } = await fixture.get(`/moderation/${guildId}/mute-status/${gameId}?no_cache=true`, { guildId });
  const { muted, mute_info: info } = body.data;
  if (!muted) return 0;
  return info.is_permanent ? Infinity : info.expires_at * 1000;
}

const actionsOf = async () =>
  (
    await fixture.query<{ action: string }>('SELECT action FROM moderation.log WHERE guild_id = $1 ORDER BY id', [
      guildId,
    ])
  ).map(({ action }) => action);

const openTasks = async () =>
  (await fixture.query('SELECT FROM moderation.timeout_tasks WHERE guild_id = $1', [guildId])).length;

const comparisonOf = async (guild: string) =>
  (
    await fixture.query<{ from: string | null; at: Date | null }>(
      'SELECT complete_from AS "from", compared_at AS at FROM moderation.timeout_guilds WHERE guild_id = $1',
      [guild],
    )
  )[0];

const NOBODY = { moderatorGameId: null, moderatorChatId: null, sourceServerId: null };
const muteOfAnHour = (gameId: number) =>
  ({
    kind: 'mute',
    gameId,
    gameUsername: null,
    reason: 'Spam',
    placeId: null,
    durationSeconds: 3600,
    ...NOBODY,
  }) as const;

test('a mute times the linked member out until its end, and lifting it ends the timeout', async () => {
  const player = newPlayer();
  await decide('mute', player, { duration: 3600 });
  await vi.waitFor(() => expect(chat.untilOf(guildId, player)).toBeGreaterThan(Date.now() + HOUR_MS - 20_000), PATIENT);
  await decide('unmute', player);
  await vi.waitFor(() => expect(chat.untilOf(guildId, player)).toBe(0), PATIENT);
  await vi.waitFor(async () => expect(await openTasks()).toBe(0), PATIENT);
  expect(await actionsOf()).toEqual(['mute', 'unmute']);
});

test('a timeout mutes the linked player until its end, and ending it lifts the mute', async () => {
  const player = newPlayer();
  const until = Date.now() + HOUR_MS;
  chat.timeOut(guildId, player, until);
  await vi.waitFor(async () => expect(Math.abs((await muteOf(player)) - until)).toBeLessThan(2_000), PATIENT);
  chat.timeOut(guildId, player, 0);
  await vi.waitFor(async () => expect(await muteOf(player)).toBe(0), PATIENT);
  expect(chat.writes.filter((write) => write.guildId === guildId)).toEqual([]);
  expect(await actionsOf()).toEqual(['mute', 'unmute']);
});

test('a mute of a place is not mirrored, and no mute of a guild that has not turned it on queues a task', async () => {
  const player = newPlayer();
  await decide('mute', player, { scope: 'place', place_id: 40001 });
  expect(await openTasks()).toBe(0);
  const other = newGuild();
  await fixture.decide('mute', { game_id: player }, { guildId: other });
  expect(await fixture.query('SELECT FROM moderation.timeout_tasks WHERE guild_id = $1', [other])).toEqual([]);
  expect(chat.writes.filter((write) => write.guildId === other)).toEqual([]);
});

test('mutes and timeouts from before moderation knew that the guild has turned it on are mirrored', async () => {
  const [muted, timedOut, guild] = [newPlayer(), newPlayer(), newGuild()];
  await fixture.decide('mute', { game_id: muted }, { guildId: guild });
  chat.timeOut(guild, timedOut, Date.now() + HOUR_MS);
  const position = () => fixture.query<{ position: string }>('SELECT position FROM moderation.timeout_feed');
  await vi.waitUntil(async () => Number((await position())[0]?.position) === chat.reported, PATIENT);
  guildId = guild;
  await turnOn(guild);
  await vi.waitFor(() => expect(chat.untilOf(guild, muted)).toBeGreaterThan(0), PATIENT);
  await vi.waitFor(async () => expect(await muteOf(timedOut)).toBeGreaterThan(0), PATIENT);
});

test('a mute whose transaction began before the guild turned it on, and commits later, is mirrored', async () => {
  const [player, other] = [newPlayer(), newGuild()];
  guildId = newGuild();
  const isNoted = async (guild: string) => (await comparisonOf(guild))?.from !== null;
  await database.transaction(async (transaction) => {
    const now = await lockUser(transaction, guildId, player);
    await insertPunishment(transaction, guildId, muteOfAnHour(player), now);
    await TIMEOUT_TASKS.queue(transaction, guildId, [player]);
    await turnOn(guildId);
    await vi.waitUntil(() => isNoted(guildId), PATIENT);
    // The sweep that notes this guild runs after the one that would have compared the first guild.
    await turnOn(other);
    await vi.waitUntil(() => isNoted(other), PATIENT);
    expect((await comparisonOf(guildId))?.at).toBeNull();
  });
  await vi.waitFor(() => expect(chat.untilOf(guildId, player)).toBeGreaterThan(0), PATIENT);
});

test('a guild that turns it off is left alone', async () => {
  const player = newPlayer();
  chat.guilds.delete(guildId);
  await vi.waitUntil(async () => !(await isOn(guildId)), PATIENT);
  await decide('mute', player);
  chat.timeOut(guildId, player, 0);
  expect(await openTasks()).toBe(0);
  expect(chat.writes.filter((write) => write.guildId === guildId)).toEqual([]);
});

test('random decisions on both sides become equal after an outage, and nothing is changed any more after that', async () => {
  const players = [newPlayer(), newPlayer(), newPlayer()];
  const random = (count: number) => Math.floor(Math.random() * count);
  for (let step = 0; step < HISTORY; step++) {
    if (step === 10) chat.isDown = true;
    if (step === 25) chat.isDown = false;
    const player = players[random(3)] as number;
    const minutes = 10 + random(600);
    const choice = random(4);
    if (choice === 0) await decide('mute', player, { duration: minutes * 60, replace: true });
    else if (choice === 1) await decide('unmute', player);
    else chat.timeOut(guildId, player, choice === 2 ? Date.now() + minutes * 60_000 : 0);
  }
  const areEqual = async () => {
    const pairs = await Promise.all(players.map(async (id) => [await muteOf(id), chat.untilOf(guildId, id)] as const));
    const differences = pairs.map(([mute, timeout]) => Math.abs(mute - timeout));
    return Math.max(...differences) < 3_000 && (await openTasks()) === 0;
  };
  // The reports contain what moderation has changed itself.
  const areAllRead = async () => {
    const [feed] = await fixture.query<{ position: string }>('SELECT position FROM moderation.timeout_feed');
    return Number(feed?.position) === chat.reported;
  };
  const isSettled = async () => (await areAllRead()) && (await areEqual());
  await vi.waitUntil(isSettled, { timeout: 60_000, interval: 200 });
  const before = [chat.writes.length, (await actionsOf()).length];
  for (const player of players) chat.timeOut(guildId, player, chat.untilOf(guildId, player));
  await vi.waitUntil(isSettled, { timeout: 60_000, interval: 200 });
  expect([chat.writes.length, (await actionsOf()).length]).toEqual(before);
}, 90_000);
