import {
  createServer,
  request as httpRequest,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { Socket } from 'node:net';
import { json } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { API_PREFIX } from '#proto/rest/route.ts';
import { scrapeSeries } from '../measure/exposition.ts';
import { waitForWindowTime } from '../measure/windows.ts';
import { listening } from '../network/listening.ts';
import { openSocket, wire } from '../network/raw-http.ts';
import { PATIENCE } from '../patience.ts';
import type { Connection } from './bytes/callers.ts';
import { type Front, startFront } from './bytes/front.ts';
import { newCaller } from './bytes/through.ts';

/** One guild, and one address whose key is not cached yet, get two of these slots. */
const MAX_IN_FLIGHT = 20;
const SHARE = 2;
/** With such a small limit one guild gets half. */
const MAX_WAITING_POLLS = 8;
const POLL_SHARE = 4;

let front: Front;
let service: { url: string; close: () => void };
/** Responses that the service delays. */
let held: ServerResponse[] = [];
/** Auth does not respond to requests about these guilds. */
const unknown = new Set<string>();
const sockets: Socket[] = [];

beforeAll(async () => {
  service = await listening(createService());
  const never = new Promise(() => undefined);
  front = await startFront({
    environment: {
      MAX_IN_FLIGHT: String(MAX_IN_FLIGHT),
      MAX_WAITING_POLLS: String(MAX_WAITING_POLLS),
    },
    upstream: service.url,
    beforeVerify: (guild) => (unknown.has(guild) ? never : undefined),
  });
});
afterAll(async () => {
  await front.stop();
  service.close();
});

/** A service that delays requests for player 7 and long polls, and responds to all others. */
function createService(): Server {
  return createServer((request, response) => {
    request.resume().on('end', () => {
      if (/\/game\/7|wait=/.test(request.url ?? '')) held.push(response);
      else response.end('{}');
    });
  });
}

let rejectionsBefore: Record<string, number>;
beforeEach(async () => {
  rejectionsBefore = await rejections();
});
afterEach(async () => {
  for (const response of held.splice(0)) response.end('{}');
  for (const socket of sockets.splice(0)) socket.destroy();
  const names = ['gateway_in_flight_requests', 'gateway_receiving_requests', 'gateway_waiting_polls'];
  // In the end all slots must be free.
  for (const name of names) await vi.waitUntil(async () => (await gauge(name)) === 0, PATIENCE);
});

/** Overload rejections by limit. */
async function rejections(): Promise<Record<string, number>> {
  const series = (await scrapeSeries(front.admin)).filter(({ name }) => name === 'gateway_overload_rejections_total');
  return Object.fromEntries(series.map(({ labels, value }) => [labels['bound'], value]));
}

/** The number of overload rejections since the test began. */
async function rejected(bound: string): Promise<number> {
  return ((await rejections())[bound] ?? 0) - (rejectionsBefore[bound] ?? 0);
}

async function gauge(name: string): Promise<number | undefined> {
  return (await scrapeSeries(front.admin)).find((series) => series.name === name)?.value;
}

interface Result {
  status: number | undefined;
  retryAfter: string | undefined;
  body: { details?: { code?: string }; message?: string };
}

/** A GET with the client's key and from its address. */
async function call({ guild, key, from }: Connection, path: string): Promise<Result> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const [host, port] = front.address.split(':');
  const headers = { 'x-api-key': key, 'x-guild-id': guild };
  const options = { host, port, path: API_PREFIX + path, headers, localAddress: from, agent: false };
  httpRequest(options, resolve).on('error', reject).end();
  const response = await promise;
  const body = (await json(response)) as Result['body'];
  return { status: response.statusCode, retryAfter: response.headers['retry-after'], body };
}

const lookup = (caller: Connection, gameId: number) => call(caller, `/lookup/game/${gameId}`);

/** A client whose key the gateway has cached, so that its requests wait for no lookup. */
async function knownCaller(): Promise<Connection> {
  const caller = newCaller();
  await expect.poll(async () => (await lookup(caller, 8)).status).toBe(200);
  return caller;
}

async function knownCallers(count: number): Promise<Connection[]> {
  const callers: Connection[] = [];
  while (callers.length < count) callers.push(await knownCaller());
  return callers;
}

function expectOverload(result: Result | undefined): void {
  expect(result).toMatchObject({ status: 503, retryAfter: '1', body: { details: { code: 'UNAVAILABLE' } } });
}

describe('requests of one guild', () => {
  test('get a tenth of the slots, also when a service hangs, and other guilds are served', async () => {
    const [one, other] = [await knownCaller(), newCaller()];
    const calls = Array.from({ length: MAX_IN_FLIGHT }, () => lookup(one, 7));
    await expect.poll(() => rejected('guild')).toBe(MAX_IN_FLIGHT - SHARE);
    expect(await gauge('gateway_in_flight_requests')).toBe(SHARE);
    expect((await lookup(other, 8)).status).toBe(200);
    expectOverload(await lookup(one, 8));
    for (const response of held.splice(0)) response.end('{}');
    const statuses = (await Promise.all(calls)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(SHARE);
    expect((await lookup(one, 8)).status).toBe(200);
  });

  test('are rejected before a rate limit counts them', async () => {
    const caller = newCaller();
    const remaining = async () => {
      const response = await fetch(`http://${front.address}${API_PREFIX}/lookup/game/8`, {
        headers: { 'x-api-key': caller.key, 'x-guild-id': caller.guild },
      });
      await response.arrayBuffer();
      return Number(response.headers.get('x-ratelimit-remaining'));
    };
    // All in one rate limit window.
    await waitForWindowTime(20_000);
    const before = await remaining();
    const calls = Array.from({ length: MAX_IN_FLIGHT }, () => lookup(caller, 7));
    await expect.poll(() => rejected('guild')).toBe(MAX_IN_FLIGHT - SHARE);
    await expect.poll(() => held.length).toBe(SHARE);
    for (const response of held.splice(0)) response.end('{}');
    await Promise.all(calls);
    expect(before - (await remaining())).toBe(SHARE + 1);
  });
});

/** Sends the start of a body and stops. */
async function beginUpload({
  guild,
  key,
}: Connection): Promise<{ socket: Socket; finish: () => void; text: () => string }> {
  const socket = await openSocket(front.address);
  sockets.push(socket);
  let received = '';
  socket.on('data', (bytes: Buffer) => (received += bytes.toString())).on('error', () => undefined);
  const body = JSON.stringify({ guild_id: guild, chat_ids: [] });
  const head = `POST ${API_PREFIX}/lookup/status HTTP/1.1\nHost: x\nX-API-Key: ${key}\nContent-Type: application/json\n`;
  socket.write(wire(`${head}Content-Length: ${body.length}\n\n`) + body.slice(0, 5));
  return { socket, finish: () => socket.write(body.slice(5)), text: () => received };
}

describe('bodies that arrive slowly', () => {
  test('of one guild get a tenth of the receiving limit, hold no slot, and delay nobody else', async () => {
    const [slow, other] = [await knownCaller(), newCaller()];
    const uploads = await Promise.all(Array.from({ length: MAX_IN_FLIGHT }, () => beginUpload(slow)));
    await expect.poll(() => rejected('guild')).toBe(MAX_IN_FLIGHT - SHARE);
    await expect.poll(() => gauge('gateway_receiving_requests')).toBe(SHARE);
    expect(await gauge('gateway_in_flight_requests')).toBe(0);
    for (let count = 0; count < 5; count++) expect((await lookup(other, 8)).status).toBe(200);
    for (const { finish } of uploads) finish();
    const statuses = () => uploads.map(({ text }) => text().slice('HTTP/1.1 '.length, 'HTTP/1.1 200'.length));
    await expect.poll(() => statuses().filter((status) => status === '200')).toHaveLength(SHARE);
    expect(statuses().filter((status) => status === '503')).toHaveLength(MAX_IN_FLIGHT - SHARE);
  });

  test('of many guilds leave all slots free for requests without a body', async () => {
    const callers = await knownCallers(MAX_IN_FLIGHT / SHARE);
    for (const caller of callers) for (let count = 0; count < SHARE; count++) await beginUpload(caller);
    await expect.poll(() => gauge('gateway_receiving_requests')).toBe(MAX_IN_FLIGHT);
    expect(await gauge('gateway_in_flight_requests')).toBe(0);
    const another = await knownCaller();
    const { text } = await beginUpload(another);
    await expect.poll(text).toContain('HTTP/1.1 503');
    expect(await rejected('receiving')).toBe(1);
    expect((await lookup(another, 8)).status).toBe(200);
  });

  test('whose client disconnects release their slot', async () => {
    const caller = await knownCaller();
    const [one, other] = [await beginUpload(caller), await beginUpload(caller)];
    await expect.poll(() => gauge('gateway_receiving_requests')).toBe(SHARE);
    expectOverload(await lookup(caller, 8));
    one.socket.destroy();
    other.socket.destroy();
    await expect.poll(async () => (await lookup(caller, 8)).status).toBe(200);
  });
});

test('requests of one address whose keys are being verified get a tenth of the slots, and others are served', async () => {
  const guilds = Array.from({ length: 10 }, newCaller);
  for (const { guild } of guilds) unknown.add(guild);
  const { from } = newCaller();
  const calls = guilds.map((caller) => lookup({ ...caller, from }, 8));
  await expect.poll(() => rejected('address')).toBe(guilds.length - SHARE);
  expect(await gauge('gateway_in_flight_requests')).toBe(SHARE);
  // A key is looked up for another address, and for this one as soon as auth has responded.
  expect((await lookup(newCaller(), 8)).status).toBe(200);
  for (const { status } of await Promise.all(calls)) expect(status).toBe(503);
  await expect.poll(async () => (await lookup({ ...newCaller(), from }, 8)).status).toBe(200);
});

test('waiting polls of one guild leave capacity for those of others, and for its other requests', async () => {
  const poll = (caller: Connection) => call(caller, `/game/servers/one/commands?wait=25`);
  const [one, other, third] = (await knownCallers(3)) as [Connection, Connection, Connection];
  const waiting = Array.from({ length: POLL_SHARE }, () => poll(one));
  await expect.poll(() => held.length).toBe(POLL_SHARE);
  expectOverload(await poll(one));
  expect([await rejected('guild_polls'), (await lookup(one, 8)).status]).toEqual([1, 200]);
  waiting.push(...Array.from({ length: POLL_SHARE }, () => poll(other)));
  await expect.poll(() => held.length).toBe(MAX_WAITING_POLLS);
  expect([await gauge('gateway_waiting_polls'), await gauge('gateway_in_flight_requests')]).toEqual([8, 0]);
  expectOverload(await poll(third));
  expect(await rejected('polls')).toBe(1);
  for (const response of held.splice(0)) response.end('{}');
  for (const { status } of await Promise.all(waiting)) expect(status).toBe(200);
});

test('public documents are served while all slots are taken', async () => {
  const callers = await knownCallers(MAX_IN_FLIGHT / SHARE);
  const calls = callers.flatMap((caller) => [lookup(caller, 7), lookup(caller, 7)]);
  await expect.poll(() => gauge('gateway_in_flight_requests')).toBe(MAX_IN_FLIGHT);
  expectOverload(await lookup(newCaller(), 8));
  expect(await rejected('in_flight')).toBe(1);
  for (const path of ['/healthz', '/docs', '/openapi.json', '/']) {
    const response = await fetch(`http://${front.address}${path}`);
    await response.arrayBuffer();
    expect([path, response.status]).toEqual([path, 200]);
  }
  for (const response of held.splice(0)) response.end('{}');
  await Promise.all(calls);
});
