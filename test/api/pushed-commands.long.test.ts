// Guarantee: with messages that take a second, a kick reaches a game server within a second and a half (p95). Without any
// message it arrives within one heartbeat (p95). Whatever happens to messages, no command is lost and none arrives twice.
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { amount, withinBound } from '../measure/bounds.ts';
import { printFigure } from '../measure/figures.ts';
import { scrape } from '../measure/metrics.ts';
import { PATIENCE } from '../patience.ts';
import { GUILD, type Network, startNetwork } from '../system/system.ts';
import { GameServer } from './fixtures/game-server.ts';

const SERVERS = amount(5, 10);
const KICKS = amount(12, 80);
/** The commands of a guild are limited to 100 a minute. */
const BETWEEN_KICKS_MS = 650;
const BUS_MS = 1_000;
const BOUND_MS = 1_500;
/** Sending a command must not wait for the message. */
const SEND_MS = 250;

let network: Network;
let key: string;
let servers: GameServer[];

beforeAll(async () => {
  network = await startNetwork();
  key = (await network.createKey()).secret;
  const settings = { method: 'PATCH', key, body: { push_commands: true } };
  const { status } = await network.call(`/guilds/${GUILD}/settings`, settings);
  if (status !== 200) throw new Error(`settings: ${status}`);
  servers = Array.from({ length: SERVERS }, () => new GameServer({ network, key, waitSeconds: 2 }));
  await Promise.all(servers.map((server) => server.start()));
});
afterAll(async () => {
  await Promise.all(servers.map((server) => server.stop()));
  await network.stop();
});

const game = (method: string, path: string, body?: object) =>
  fetch(network.simulators.game + path, { method, ...(body && { body: JSON.stringify(body) }) });
/** Sets how the message bus delivers from now on. */
const setBus = (behaviour: object) => game('PUT', '/__messages', behaviour);

interface Kick {
  server: GameServer;
  commandId: string;
  sentAt: number;
  /** How long the response to the request took. */
  responseMs: number;
}

/** Every kick, in the order in which they were sent. */
const sent: Kick[] = [];

async function kick(server: GameServer): Promise<Kick> {
  const sentAt = performance.now();
  const body = { guild_id: GUILD, type: 'kick', server_id: server.id, target: { game_id: 7001 } };
  const { status, json } = await network.call(`/guilds/${GUILD}/commands`, { method: 'POST', key, body });
  if (status !== 201) throw new Error(`command: ${status} ${JSON.stringify(json)}`);
  const one = { server, commandId: json.data.command_id, sentAt, responseMs: performance.now() - sentAt };
  sent.push(one);
  return one;
}

/** Sends kicks to all servers in turn. */
async function kickAll(count: number): Promise<Kick[]> {
  const kicks: Kick[] = [];
  const started = performance.now();
  for (let index = 0; index < count; index++) {
    await sleep(Math.max(0, started + index * BETWEEN_KICKS_MS - performance.now()));
    kicks.push(await kick(servers[index % SERVERS] as GameServer));
  }
  return kicks;
}

const arrivalsOf = ({ server, commandId }: Kick) => server.received.filter((one) => one.commandId === commandId);
/** The milliseconds from a request to the receipt of its command, sorted. Waits until all have arrived. */
async function delaysOf(kicks: Kick[]): Promise<number[]> {
  await expect.poll(() => kicks.every((one) => arrivalsOf(one).length > 0), PATIENCE).toBe(true);
  return kicks.map((one) => (arrivalsOf(one)[0]?.at ?? Infinity) - one.sentAt).toSorted((a, b) => a - b);
}

const p95 = (sorted: number[]) => sorted[Math.ceil(sorted.length * 0.95) - 1] ?? 0;
/** How many messages ended in this way. */
async function countOf(outcome: string): Promise<number> {
  const activity = network.services.get('activity');
  return (activity && (await scrape(activity))(`activity_wake_ups_total{outcome="${outcome}"}`)) ?? 0;
}

test('with messages that take a second, a kick arrives within a second and a half', async () => {
  await setBus({ delay_ms: BUS_MS });
  const kicks = await kickAll(KICKS);
  const delays = await delaysOf(kicks);
  printFigure(`a kick with messages of ${BUS_MS} ms, median, in ms`, delays[Math.floor(KICKS / 2)] ?? 0);
  withinBound(`a kick with messages of ${BUS_MS} ms, p95 of ${KICKS}`, p95(delays), BOUND_MS);
  // The rest arrives with a poll that was waiting when the command was sent.
  expect(kicks.filter((one) => arrivalsOf(one)[0]?.isWoken).length).toBeGreaterThan(KICKS / 2);
});

test('with all messages lost, a kick arrives within one heartbeat', async () => {
  await setBus({ drop_every: 1 });
  const kicks = await kickAll(KICKS);
  const delays = await delaysOf(kicks);
  const heartbeatMs = Math.max(...servers.map(({ heartbeatSeconds }) => heartbeatSeconds)) * 1000;
  withinBound(`a kick without messages, p95 of ${KICKS}`, p95(delays), heartbeatMs);
  expect(kicks.some((one) => arrivalsOf(one)[0]?.isWoken)).toBe(false);
});

// Fails each call in another way: the platform is down, cuts connections, or is slower than the deadline of a call.
test.each([
  ['down', { status: 503 }],
  ['interrupted', { reset: true }],
  ['slow', { delay_ms: 6_000 }],
])(
  'while the bus is %s, commands are accepted as fast and arrive; afterwards messages wake servers again',
  async (_name, fault) => {
    await setBus({});
    await game('POST', '/__faults', { match: 'publishMessage', ...fault });
    const failed = await countOf('failed');
    const kicks = await kickAll(SERVERS);
    withinBound(
      'the response to a command whose message fails',
      Math.max(...kicks.map((one) => one.responseMs)),
      SEND_MS,
    );
    await delaysOf(kicks);
    await expect.poll(() => countOf('failed')).toBeGreaterThan(failed);

    await game('DELETE', '/__faults');
    const isWokenAgain = async () => {
      const one = await kick(servers[0] as GameServer);
      await delaysOf([one]);
      return arrivalsOf(one)[0]?.isWoken;
    };
    await expect.poll(isWokenAgain, { ...PATIENCE, timeout: 60_000, interval: 1_000 }).toBe(true);
  },
);

// The last test, because it looks at everything that was sent.
test('every command arrived once, in the order in which it was sent, and is acknowledged', async () => {
  const stateOf = async (state: string) => {
    const { json } = await network.call(`/guilds/${GUILD}/commands?limit=100&state=${state}`, { key });
    return json.data.commands as { outcome: { servers: number; succeeded: number } }[];
  };
  await Promise.all(servers.map((server) => server.beat()));
  expect(await stateOf('open')).toEqual([]);
  const finished = await stateOf('finished');
  expect(finished.length).toBeGreaterThan(KICKS);
  expect(finished.every(({ outcome }) => outcome.servers === 1 && outcome.succeeded === 1)).toBe(true);
  for (const server of servers) {
    const ids = server.received.map(({ commandId }) => commandId);
    expect(ids).toEqual(sent.filter((one) => one.server === server).map(({ commandId }) => commandId));
  }
});
