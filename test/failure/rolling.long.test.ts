import { afterAll, beforeAll, expect, test } from 'vitest';
import { DEPLOYABLES } from '#local/processes.ts';
import { amount, withinBound } from '../measure/bounds.ts';
import { printFigure } from '../measure/figures.ts';
import { createTestDatabase, type TestDatabase } from '../postgres/database.ts';
import { testRedisUrl } from '../redis/database.ts';
import { Deployment } from './deployment.ts';
import { IDLE_MS, type Load, type LoadRequest, startLoad } from './load.ts';

/** Enough guilds that none reaches its own limit. */
const GUILDS = Array.from({ length: amount(20, 100) }, (_, index) => `90000000000000${index + 1000}`);
/** In milliseconds. */
const RATE = amount(40, 200);
const DRAIN_DELAY_SECONDS = (2 * IDLE_MS) / 1_000;

let database: TestDatabase;
let deployment: Deployment;

beforeAll(async () => {
  database = await createTestDatabase();
  // A high call budget for the chat platform, because a fifth of these requests needs it.
  const environment = { DRAIN_DELAY_SECONDS: String(DRAIN_DELAY_SECONDS), CHAT_GLOBAL_RPS: '1000' };
  const redisUrl = await testRedisUrl();
  deployment = new Deployment({ databaseUrl: database.url, redisUrl, replicas: 2, guilds: GUILDS, environment });
  await deployment.start();
}, 300_000);

afterAll(async () => {
  await deployment?.stop();
  await database?.drop();
}, 60_000);

let players = 1_000_000;
/** For a guild without any data. */
const newPlayer = () => ++players;

const REQUESTS: ((guild: string) => Omit<LoadRequest, 'key' | 'guild'>)[] = [
  () => ({ name: 'whoami', method: 'GET', path: '/whoami', status: 200 }),
  () => ({ name: 'lookup', method: 'GET', path: `/lookup/game/${newPlayer()}`, status: 404 }),
  () => ({ name: 'bindings', method: 'GET', path: '/bindings/list', status: 200 }),
  (guild) => ({ name: 'ban', method: 'POST', path: `/moderation/${guild}/game/ban`, status: 201, body: newBan() }),
  (guild) => ({ name: 'ban status', method: 'GET', path: `/moderation/${guild}/ban-status/7001`, status: 200 }),
  () => ({ name: 'link', method: 'POST', path: '/verification/link', status: 201, body: newLink() }),
  () => ({ name: 'heartbeat', method: 'POST', path: '/game/servers/heartbeat', status: 200, body: HEARTBEAT }),
  () => ({ name: 'poll', method: 'GET', path: '/game/servers/another/commands', status: 200 }),
  (guild) => ({
    name: 'permissions',
    method: 'GET',
    path: `/guilds/${guild}/staff/game/7001/permissions`,
    status: 200,
  }),
  (guild) => ({ name: 'member', method: 'GET', path: `/guilds/${guild}/members/920000000000000001`, status: 200 }),
];
const HEARTBEAT = { server_id: 'server', place_id: 40001, player_count: 1, max_players: 30 };
const newBan = () => ({ game_id: newPlayer(), reason: 'Cheats' });
const newLink = () => {
  const gameId = newPlayer();
  return { chat_id: `93000000000${gameId}`, game_id: gameId, game_username: 'Player' };
};

function* requests(): Generator<LoadRequest, never> {
  for (let turn = 0; ; turn++) {
    const guild = GUILDS[Math.floor(turn / REQUESTS.length) % GUILDS.length] as string;
    const make = REQUESTS[turn % REQUESTS.length] as (typeof REQUESTS)[number];
    yield { ...make(guild), guild, key: deployment.keys.get(guild) as string };
  }
}

const answered = ({ good }: Load) => [...good.values()].reduce((sum, count) => sum + count, 0);

test('a rolling restart of every deployable under load loses no request', { timeout: 600_000 }, async () => {
  const stream = requests();
  const load = startLoad(deployment.api, RATE, () => stream.next().value);
  // By then both gateways have cached most keys.
  await expect.poll(() => answered(load), { timeout: 60_000 }).toBeGreaterThan(2 * GUILDS.length * REQUESTS.length);
  const stops: string[] = [];
  for (const { name } of DEPLOYABLES) {
    // The long form restarts all; in the short form the other replica is recent enough.
    const old = deployment.replicasOf(name).slice(0, amount(1, 2));
    for (const replica of old) {
      await deployment.startReplica(name);
      const { exit, ms } = await deployment.terminate(replica);
      expect([name, exit, replica.output]).toEqual([name, { code: 0, signal: null }, expect.any(String)]);
      withinBound(`${name} stops, with a drain delay of ${DRAIN_DELAY_SECONDS} s`, ms, 25_000);
      stops.push(name);
    }
    expect(load.failed, `while ${name} was restarted:\n${deployment.errors()}`).toEqual([]);
  }
  const rate = load.rate();
  await load.stop();
  expect(load.failed, `at the end:\n${deployment.errors()}`).toEqual([]);
  printFigure(`requests lost by ${stops.length} restarts`, `0 of ${answered(load)}, at ${Math.round(rate)} a second`);
  expect([...load.good.keys()]).toHaveLength(REQUESTS.length);
});
