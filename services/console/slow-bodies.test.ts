// Guarantees about request bodies that arrive slowly or never: their requests take no slot, and a disconnected client keeps none.
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { PATIENCE } from '#test/patience.ts';
import { Browser, ConsoleFixture, GUILD, sessionTokenIn } from './fixture.ts';
import { SESSION_COOKIE } from './http/cookies.ts';
import { csrfTokenOf } from './http/origin.ts';

const BODY_LENGTH = 100;

let system: ConsoleFixture;
const sockets: Socket[] = [];

beforeAll(async () => {
  system = await ConsoleFixture.start({ environment: { TRUSTED_PROXIES: '127.0.0.1' } });
});
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await vi.waitUntil(async () => (await receiving()) === 0, PATIENCE);
});
afterAll(() => system.stop());

/** Sends the head of a request that changes something, and a part of its body if `part` is given. */
async function begin(
  path: string,
  { address, token, part = '', method = 'PUT' }: { address: string; token: string; part?: string; method?: string },
): Promise<Socket> {
  const url = new URL(system.url);
  const socket = connect(Number(url.port), url.hostname);
  sockets.push(socket);
  const head = [
    `${method} ${path} HTTP/1.1`,
    `host: ${url.host}`,
    `origin: ${url.origin}`,
    `cookie: ${SESSION_COOKIE}=${token}`,
    `x-csrf-token: ${csrfTokenOf(token)}`,
    `x-forwarded-for: ${address}`,
    'content-type: application/json',
    `content-length: ${BODY_LENGTH}`,
  ];
  await new Promise<void>((resolve) => socket.write(`${head.join('\r\n')}\r\n\r\n${part}`, () => resolve()));
  return socket;
}
const accessOf = (index: number) => `/console/guilds/${GUILD}/access/92000000000000${1000 + index}`;
const randomToken = () => `${Math.random()}`.slice(2).padEnd(43, 'x');
/** Signs in with a link, and returns the token of a session that the console has not cached yet. */
async function newSession(address: string): Promise<string> {
  const body = { token: await system.createLink() };
  const headers = { 'x-forwarded-for': address };
  return sessionTokenIn(await new Browser(system.url).send('/console/sign-in/link', { method: 'POST', body, headers }));
}
const responseOn = async (socket: Socket) => String(((await once(socket, 'data')) as [Buffer])[0]);
const receiving = () => system.metric('console_receiving_requests');
const inFlight = () => system.metric('console_in_flight_requests');
const providers = (address: string) =>
  new Browser(system.url).send('/console/providers', { headers: { 'x-forwarded-for': address } });

test('bodies that never arrive take no slot, and others can sign in and send bodies of their own', async () => {
  const person = await system.signIn();
  for (let index = 0; index < 100; index++) {
    await begin(accessOf(index), { address: `198.51.100.${Math.floor(index / 10)}`, token: randomToken(), part: '{' });
  }
  await expect.poll(receiving).toBe(100);
  expect(await inFlight()).toBe(0);
  expect((await providers('192.0.2.1')).status).toBe(200);
  const body = JSON.stringify({ role: 'viewer' }).padEnd(BODY_LENGTH);
  const { token } = person;
  const slow = await begin(accessOf(0), { address: '198.51.100.0', token, part: body.slice(0, 5) });
  await expect.poll(receiving).toBe(101);
  slow.write(body.slice(5));
  expect(await responseOn(slow)).toMatch(/^HTTP\/1.1 200 /);
});

test('browsers that leave before their body has arrived leave no slot behind', async () => {
  for (let index = 0; index < 40; index++) {
    const address = `198.51.100.${index}`;
    const token = await newSession(address);
    const socket = await begin(`/console/guilds/${GUILD}/keys`, { address, token, method: 'POST' });
    socket.destroy();
  }
  await expect.poll(inFlight).toBe(0);
  expect((await providers('198.51.100.1')).status).toBe(200);
});

test('an address has ten slow bodies of unknown sessions at a time; further ones get 503, and complete ones are accepted', async () => {
  const person = await system.signIn();
  const address = '198.51.100.99';
  for (let index = 0; index < 10; index++) await begin(accessOf(index), { address, token: randomToken(), part: '{' });
  await expect.poll(receiving).toBe(10);
  const rejected = await begin(accessOf(11), { address, token: randomToken(), part: '{' });
  expect(await responseOn(rejected)).toMatch(/^HTTP\/1.1 503 [^]*retry-after: 1\r\n/i);
  const body = { role: 'viewer' };
  const complete = await person.send(accessOf(12), { method: 'PUT', body, headers: { 'x-forwarded-for': address } });
  expect(complete.status).toBe(200);
});
