import { afterAll, beforeAll, expect, test } from 'vitest';
import { amount } from '#test/measure/bounds.ts';
import type { Engine } from '../engine/engine.ts';
import { usage } from './limits.ts';
import type { SimulatedCommand } from './simulated-guild.ts';
import { SimulatedPlace } from './simulated-place.ts';
import { runsOf } from './world.ts';

// The gateway is unavailable for five minutes of simulated time: connections fail, and responses that were on their way
// are lost.
const SERVERS = amount(8, 20);
const OUTAGE_SECONDS = 300;
const FIRST_PLAYER = 10_000;
const BANNED = 5000;
const BANS = 40;
const TTL = 900;
/** A request that fails after five seconds, and the second in which joining players are collected. */
const KICKED_SECONDS = 8;

const place = new SimulatedPlace();
const { guild, gateway, clock } = place;
const actions: string[] = [];
const commands: SimulatedCommand[] = [];
let begun: Engine[] = [];
let nextBanned = BANNED;

const bannedPlayer = () => BANNED + (nextBanned++ % BANS);

beforeAll(async () => {
  for (let index = 0; index < BANS; index++) guild.ban(BANNED + index);
  for (let index = 0; index < SERVERS; index++) {
    const engine = await place.start();
    for (let player = 0; player < 20; player++) engine.addPlayer(FIRST_PLAYER + index * 20 + player);
  }
  begun = [...place.servers];
  await clock.advance(150_000);
}, 60_000);
afterAll(() => place.end());

/** A banned player tries to join; returns the seconds until the kick. */
async function tryToJoin(engine: Engine): Promise<number> {
  const gameId = bannedPlayer();
  const joinedAt = clock.now();
  engine.addPlayer(gameId);
  while (engine.players.has(gameId) && clock.now() - joinedAt < 60_000) await clock.advance(500);
  return (clock.now() - joinedAt) / 1000;
}

test('before the outage everything is as usual', async () => {
  expect(guild.liveServers).toHaveLength(SERVERS);
  commands.push(guild.send({ ttl: TTL }));
  await clock.advance(20_000);
  for (const engine of begun) expect(runsOf(engine).get(commands[0]?.id ?? '')).toBe(1);
  expect(Object.fromEntries(gateway.rejections)).toEqual({});
});

test('while the gateway is unavailable, banned players stay out, on servers that start meanwhile too', async () => {
  // Servers run this command but cannot acknowledge it, and so receive it again afterwards.
  commands.push(guild.send({ ttl: TTL }));
  await clock.advance(500);
  // The responses with this one are lost.
  commands.push(guild.send({ ttl: TTL }));
  gateway.isAvailable = false;
  commands.push(guild.send({ ttl: TTL }));
  const end = clock.now() + OUTAGE_SECONDS * 1000;
  const started = await place.start();
  const waits: number[] = [];
  for (let round = 0; clock.now() < end; round++) {
    const engine = round % 3 === 0 ? started : (begun[round % SERVERS] as Engine);
    waits.push(await tryToJoin(engine));
    actions.push(await place.logAction(begun[(round + 1) % SERVERS] as Engine));
    actions.push(await place.logAction(started));
    await clock.advance(3000);
  }
  expect(waits.length).toBeGreaterThan(20);
  expect(Math.max(...waits)).toBeLessThanOrEqual(KICKED_SECONDS);
  const [closed] = begun.splice(0, 1);
  actions.push(await place.logAction(closed as Engine));
  await place.close(closed as Engine);
}, 120_000);

test('afterwards no command and no action is lost, nothing ran twice, and no limit was exceeded', async () => {
  gateway.isAvailable = true;
  // Actions of a server that closed meanwhile are found in the DataStore by others, which look every two minutes.
  await clock.advance(400_000);
  for (const command of commands) {
    for (const engine of begun) {
      const outcome = [runsOf(engine).get(command.id), command.servers.get(engine.jobId)?.status];
      expect(outcome).toEqual([1, 'success']);
    }
  }
  expect(actions.length).toBeGreaterThan(40);
  expect(actions.filter((id) => !guild.actions.has(id))).toEqual([]);
  const playing = [...place.servers].flatMap(({ players }) => [...players]);
  expect(playing.filter((gameId) => guild.bans.has(gameId))).toEqual([]);
  expect(playing).toHaveLength((SERVERS - 1) * 20);
  expect(Object.fromEntries(gateway.rejections)).toEqual({});
  for (const { most, limit } of usage(place.everyServer)) expect(most).toBeLessThanOrEqual(limit);
  expect(place.everyServer.flatMap(({ errors }) => errors)).toEqual([]);
}, 120_000);
