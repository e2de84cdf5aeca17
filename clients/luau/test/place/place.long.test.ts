import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { amount, LONG } from '#test/measure/bounds.ts';
import { printFigure } from '#test/measure/figures.ts';
import { GUILD } from '#test/system/system.ts';
import type { Engine } from '../engine/engine.ts';
import type { HttpRequest } from '../engine/http.ts';
import { usage } from './limits.ts';
import { isLive, isPolling, runsOf, World } from './world.ts';

// The test is a game with real servers' code against the real gateway and services, in real time. The short form has
// fewer servers, and no waiting for leases that must end.
const SERVERS = amount(4, 20);
const PLAYERS = amount(60, 500);
const OUTAGE_MS = amount(1500, 40_000);
const PATIENT = { timeout: amount(40_000, 180_000), interval: 100 };
const FIRST_PLAYER = 10_000;
const BANNED = FIRST_PLAYER + PLAYERS;
const MODERATOR = 9999;

let world: World;
/** Commands, with the servers that were live when they were sent. */
const commands = new Map<string, Set<Engine>>();
const actions = new Map<string, Engine>();
let crashed: Engine | undefined;
/** 429 responses that the test has made up. */
let rejected = 0;

beforeAll(async () => {
  world = await World.start();
}, 60_000);
afterAll(() => world.stop());

const living = () => world.engines.filter((engine) => engine !== crashed);
const serverOf = (gameId: number) => world.engines[gameId % SERVERS] as Engine;

/** Sends a command to all servers that are live, which are those whose heartbeats arrived lately. */
async function send(fields: object = {}): Promise<string> {
  const id = await world.sendCommand({ type: 'custom', all: true, ttl_seconds: 600, ...fields });
  const states = await world.states(id);
  commands.set(id, new Set(world.engines.filter(({ jobId }) => states.has(jobId))));
  return id;
}

async function logAction(engine: Engine, target: number): Promise<void> {
  const source = `return (_G.guild:logAction({ actor = ${MODERATOR}, target = ${target}, action_type = "warn", reason = "r" }))`;
  actions.set(await engine.run<string>(source), engine);
}

/** True once every server for which a command is has run it, except one that has died. */
function hasRun(id: string): boolean {
  return [...(commands.get(id) ?? [])].every((engine) => engine === crashed || runsOf(engine).has(id));
}

/** Every action that the API has, by ID. */
async function listActions(): Promise<string[]> {
  const ids: string[] = [];
  let cursor = '';
  do {
    const page = await world.call('GET', `/guilds/${GUILD}/staff/actions?limit=100${cursor}`);
    ids.push(...(page.actions as { id: string }[]).map(({ id }) => id));
    cursor = page.next_cursor === null ? '' : `&cursor=${page.next_cursor}`;
  } while (cursor !== '');
  return ids;
}

test('servers start and their players join; those who were banned are kicked', async () => {
  for (let index = 0; index < 5; index++) await world.ban(BANNED + index);
  await Promise.all(Array.from({ length: SERVERS }, () => world.server()));
  for (let index = 0; index < PLAYERS + 5; index++) serverOf(index).addPlayer(FIRST_PLAYER + index);
  await vi.waitUntil(() => world.engines.every((engine) => isLive(engine)), PATIENT);
  await vi.waitUntil(() => world.engines.flatMap(({ kicks }) => kicks).length >= 5, PATIENT);
  const kicked = world.engines.flatMap(({ kicks }) => kicks.map(({ userId }) => userId));
  expect(kicked.toSorted((a, b) => a - b)).toEqual([0, 1, 2, 3, 4].map((index) => BANNED + index));
  // Players who join together are checked together.
  const checks = world.engines.flatMap(({ requests }) => requests).filter(({ url }) => url.endsWith('/game/status'));
  expect(checks.length).toBeLessThanOrEqual(SERVERS * Math.ceil((PLAYERS + 5) / SERVERS / 25) + SERVERS);
}, 120_000);

test('moderators ban and kick players, and send commands', async () => {
  await vi.waitUntil(() => world.engines.every(isPolling), PATIENT);
  const banned = [0, 1, 2].map((index) => FIRST_PLAYER + index);
  for (const gameId of banned) await world.ban(gameId);
  const kicked = FIRST_PLAYER + 4;
  await world.sendCommand({ type: 'kick', all: true, target: { game_id: kicked }, payload: { reason: 'language' } });
  const id = await send();
  expect(commands.get(id)?.size).toBe(SERVERS);
  await vi.waitUntil(() => hasRun(id), PATIENT);
  await vi.waitUntil(() => [...banned, kicked].every((gameId) => !serverOf(gameId).players.has(gameId)), PATIENT);
  await Promise.all(world.engines.map((engine, index) => logAction(engine, FIRST_PLAYER + 5 + index)));
}, 120_000);

test('servers lose their network; what happens meanwhile arrives later', async () => {
  const offline = world.engines.slice(0, Math.ceil(SERVERS / 2));
  // Without a network a poll that waits at the gateway may end there, or receive a command that does not arrive. Then
  // the command's lease must end first, for which only the long form waits.
  for (const [index, engine] of offline.entries()) {
    if (LONG && index % 2 === 0) engine.network.down = true;
    else engine.disconnect();
  }
  const id = await send();
  await Promise.all(offline.map((engine, index) => logAction(engine, FIRST_PLAYER + 20 + index)));
  await new Promise((resolve) => {
    setTimeout(resolve, OUTAGE_MS);
  });
  const back = Date.now();
  for (const { network } of offline) network.down = false;
  expect(commands.get(id)?.size).toBe(SERVERS);
  await vi.waitUntil(() => hasRun(id), PATIENT);
  // A server without heartbeats for 45 s receives no new commands until its next one.
  if (LONG) await vi.waitUntil(() => world.engines.every((engine) => isLive(engine, back)), PATIENT);
}, 240_000);

test('servers receive 429 responses, which they outlast', async () => {
  const reject = ({ url }: HttpRequest) => {
    if (url.includes('/commands') || rejected >= 3 * SERVERS || Math.random() < 0.5) return undefined;
    rejected++;
    const body = JSON.stringify({
      status: 'error',
      code: 429,
      message: 'slow down',
      details: { code: 'RATE_LIMITED' },
    });
    return { kind: 'respond', response: { status: 429, headers: { 'retry-after': '1' }, body } } as const;
  };
  for (const { network } of world.engines) network.fault = reject;
  await Promise.all(world.engines.map((engine, index) => logAction(engine, FIRST_PLAYER + 30 + index)));
  const id = await send();
  expect(commands.get(id)?.size).toBe(SERVERS);
  await vi.waitUntil(() => hasRun(id) && rejected > 0, PATIENT);
  for (const { network } of world.engines) network.fault = undefined;
}, 120_000);

test.skipIf(!LONG)(
  'a response with a command is lost: it is delivered again when its lease ends',
  async () => {
    await vi.waitUntil(() => world.engines.every(isPolling), PATIENT);
    // The polls that wait at the gateway receive the command there, but their responses do not arrive.
    for (const { network } of world.engines) network.down = true;
    const id = await send();
    expect(commands.get(id)?.size).toBe(SERVERS);
    await vi.waitUntil(() => !world.engines.some(isPolling), PATIENT);
    expect(world.engines.filter((engine) => runsOf(engine).has(id))).toEqual([]);
    for (const { network } of world.engines) network.down = false;
    await vi.waitUntil(() => hasRun(id), PATIENT);
  },
  240_000,
);

test.skipIf(!LONG)(
  'the gateway is unavailable: banned players stay out, and actions arrive later',
  async () => {
    const GATEWAY_PORT = world.network.address('gateway', 'http').split(':').at(-1);
    await world.network.services.get('gateway')?.stop();
    const kicksBefore = world.engines.flatMap(({ kicks }) => kicks).length;
    for (const engine of world.engines) engine.addPlayer(BANNED);
    await Promise.all(world.engines.map((engine, index) => logAction(engine, FIRST_PLAYER + 60 + index)));
    const kicks = () => world.engines.flatMap((engine) => engine.kicks).length - kicksBefore;
    await vi.waitUntil(() => kicks() === SERVERS, { timeout: 15_000, interval: 100 });
    await new Promise((resolve) => {
      setTimeout(resolve, OUTAGE_MS);
    });
    const back = Date.now();
    await world.network.startOne('gateway', { GATEWAY_PORT });
    await vi.waitUntil(() => world.engines.every((engine) => isLive(engine, back)), PATIENT);
    expect(world.engines.filter(({ players }) => players.has(BANNED))).toEqual([]);
  },
  240_000,
);

test('a server dies between poll and acknowledgement; nothing is lost on the others', async () => {
  const dying = world.engines.at(-1) as Engine;
  await vi.waitUntil(() => world.engines.every(isPolling), PATIENT);
  const id = await send({ payload: { hang: dying.jobId } });
  await vi.waitUntil(() => runsOf(dying).has(id), PATIENT);
  await dying.crash();
  crashed = dying;
  await vi.waitUntil(() => hasRun(id), PATIENT);
  expect(runsOf(dying).get(id)).toBe(1);
  expect((await world.states(id)).get(dying.jobId)).toBe('leased');
}, 120_000);

test('the game ends: no command was lost or run twice, no ban missed, no action lost, and every limit was kept', async () => {
  const last = living()[0] as Engine;
  await logAction(last, FIRST_PLAYER + 50);
  const errors = world.engines.flatMap((engine) => engine.errors);
  const left = living().flatMap(({ players }) => [...players]);
  await Promise.all(living().map(async (engine) => await engine.close()));
  expect(errors).toEqual([]);
  for (const [id, servers] of commands) {
    const states = await world.states(id);
    for (const engine of servers) {
      if (engine === crashed) continue;
      expect([runsOf(engine).get(id), states.get(engine.jobId)]).toEqual([1, 'success']);
    }
  }
  const banned = new Set([0, 1, 2].map((index) => FIRST_PLAYER + index));
  expect(left.filter((gameId) => gameId >= BANNED || banned.has(gameId))).toEqual([]);
  const expected = [...actions].filter(([, engine]) => engine !== crashed).map(([id]) => id);
  const found = await listActions();
  expect(new Set(found).size).toBe(found.length);
  expect(expected.filter((id) => !found.includes(id))).toEqual([]);
  const rejections = world.engines.flatMap(({ requests }) => requests).filter(({ status }) => status === 429);
  expect(rejections).toHaveLength(rejected);
  for (const { name, most, limit } of usage(world.engines)) {
    printFigure(`${SERVERS} servers, ${PLAYERS} players: ${name} in a minute`, `${most} of ${limit}`);
    expect(most).toBeLessThanOrEqual(limit);
  }
}, 120_000);
