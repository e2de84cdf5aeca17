import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { amount, withinBound } from '../measure/bounds.ts';
import { printFigure } from '../measure/figures.ts';
import { DurableDeployment, KILLABLE } from './durable-deployment.ts';
import { RECORDERS, recordBacklog, storedBacklog, waitingEvents } from './events/backlog.ts';
import { delayCommits } from './events/delayed-commits.ts';
import { GuildRun } from './events/guild-run.ts';
import { WRITTEN_TYPES } from './events/lines.ts';
import { watchGuilds } from './events/platform-turns.ts';
import { Poller } from './events/poller.ts';
import { Writer } from './writer.ts';

const guildsFrom = (first: number, count: number) =>
  Array.from({ length: count }, (_, index) => `90000000000000${first + index}`);

const KILLED = guildsFrom(1000, amount(2, 6));
const WITHOUT_EVENTS = guildsFrom(2000, 2);
const BUSY = '900000000000003000';

const ROUNDS = amount(1, 5);
/** Time between kills. */
const PAUSE_MS = 1_000;
/** The longest time until a command of the last turn has expired, and until a killed process's changes are finished. */
const QUIET = { timeout: 120_000, interval: 1_000 };

const BACKLOG = amount(6_000, 48_000);
const EVENTS_PER_SECOND = 2_000;

const WRITERS = { bans: 5, links: 5, actions: 6 };
const WRITES = amount(3, 9);

const system = new DurableDeployment();

beforeAll(async () => {
  const guilds = [...KILLED, ...WITHOUT_EVENTS, BUSY];
  await system.start(guilds, { CHAT_GATEWAY_ENABLED: 'true' });
  await watchGuilds(system.databaseUrl, guilds);
}, 300_000);
afterAll(() => system.stop(), 60_000);

const faultsOf = async (runs: readonly GuildRun[]) =>
  (await Promise.all(runs.map((run) => run.faults(system.databaseUrl)))).flat();

test('kill -9 of each process in turn: there is no change without its event and no event without its change', {
  timeout: 900_000,
}, async () => {
  const runs = KILLED.map((guild) => new GuildRun(guild, system.deployment).start().followStream());
  const killing = async () => {
    for (let round = 0; round < ROUNDS; round++) {
      for (const name of KILLABLE) {
        await system.killAndRestart(name);
        await wait(PAUSE_MS);
      }
    }
    return ROUNDS * KILLABLE.length;
  };
  // A rejected write ends the test immediately.
  const kills = await Promise.race([killing(), Promise.all(runs.map(({ running }) => running)).then(() => 0)]);
  expect(kills).toBeGreaterThan(0);
  await Promise.all(runs.map((run) => run.stopWriting()));
  await expect.poll(() => faultsOf(runs), QUIET).toEqual([]);
  await Promise.all(runs.map((run) => run.end()));

  const events = runs.flatMap(({ poller }) => poller.events);
  expect(WRITTEN_TYPES.filter((type) => !events.some((event) => event.type === type))).toEqual([]);
  const confirmed = runs.reduce((sum, { writer }) => sum + writer.confirmed.length, 0);
  printFigure(
    `events and changes that disagree after ${kills} kills`,
    `0 of ${events.length} events, ${confirmed} acknowledged changes`,
  );
});

test('without the events service every write succeeds and nothing is lost; it catches up in order', {
  timeout: 300_000,
}, async () => {
  await system.kill('events');
  const runs = WITHOUT_EVENTS.map((guild) => new GuildRun(guild, system.deployment));
  const writing = runs.map((run) => run.writeOnce());
  const recorded = await recordBacklog(system.databaseUrl, BACKLOG);
  await Promise.all(writing);
  expect(runs.map(({ failures }) => failures)).toEqual(runs.map(() => 0));
  expect(await waitingEvents(system.databaseUrl)).toBeGreaterThan(recorded);

  await system.deployment.startReplica('events');
  const started = performance.now();
  while ((await waitingEvents(system.databaseUrl)) > 0) await wait(50);
  const seconds = (performance.now() - started) / 1_000;
  expect(await storedBacklog(system.databaseUrl)).toEqual({ stored: recorded, misplaced: 0 });
  withinBound(`time for ${recorded} events that waited`, seconds, recorded / EVENTS_PER_SECOND, 's');

  for (const run of runs) run.follow();
  await expect.poll(() => faultsOf(runs), QUIET).toEqual([]);
  await Promise.all(runs.map((run) => run.end()));
});

test('16 writers of one guild with commits of random duration: seq has no gaps and never goes backwards', {
  timeout: 300_000,
}, async () => {
  const tables = [...RECORDERS.map((schema) => `${schema}.event_counters`), 'events.counters'];
  const endDelays = await delayCommits(system.databaseUrl, tables);
  const writer = new Writer(system.deployment.api, system.deployment.keys);
  const ended = new AbortController();
  const poller = new Poller(writer, BUSY);
  const reading = poller.run(ended.signal);
  let player = 5_000_000;
  const writes = {
    bans: () => writer.post(BUSY, `/moderation/${BUSY}/game/ban`, { game_id: ++player, reason: 'Cheats' }),
    links: () => {
      const account = { chat_id: `93000000000${++player}`, game_id: player, game_username: 'Player' };
      return writer.post(BUSY, '/verification/link', account);
    },
    actions: () => {
      const action = { actor_game_id: 7001, action_type: 'kick', action_id: randomUUID() };
      return writer.post(BUSY, '/staff/game/action', action);
    },
  };
  const repeat = async (one: () => Promise<unknown>) => {
    for (let count = 0; count < WRITES; count++) await one();
  };
  const writers = Object.entries(WRITERS).flatMap(([name, count]) =>
    Array.from({ length: count }, () => repeat(writes[name as keyof typeof writes])),
  );
  expect(writers.length).toBe(16);
  await Promise.all(writers);
  const types = ['ban.created', 'link.created', 'staff.action'];
  const reported = () => poller.events.filter(({ type }) => types.includes(type)).length;
  await expect.poll(reported, QUIET).toBe(writers.length * WRITES);
  ended.abort();
  await reading;
  await endDelays();
  expect(poller.faults).toEqual([]);
});
