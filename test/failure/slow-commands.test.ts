// Guarantee: slash commands whose body arrives slowly, which anybody can send, take no slot from other requests, and hold their own
// for a second only.
import { createServer } from 'node:http';
import type { Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { API_PREFIX } from '#proto/rest/route.ts';
import { scrapeSeries } from '../measure/exposition.ts';
import { listening } from '../network/listening.ts';
import { openSocket, wire } from '../network/raw-http.ts';
import { APPLICATION_PUBLIC_KEY, signatureOf } from '../system/interactions.ts';
import { type Front, startFront } from './bytes/front.ts';
import { newCaller } from './bytes/through.ts';

/** A tenth of them, two, are for bodies of slash commands that are arriving, and one for each address. */
const MAX_IN_FLIGHT = 20;

let front: Front;
let service: { url: string; close: () => void };
const sockets: Socket[] = [];

beforeAll(async () => {
  service = await listening(createServer((request, response) => request.resume().on('end', () => response.end('{}'))));
  const environment = { MAX_IN_FLIGHT: String(MAX_IN_FLIGHT), CHAT_APPLICATION_PUBLIC_KEY: APPLICATION_PUBLIC_KEY };
  front = await startFront({ environment, upstream: service.url });
});
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
});
afterAll(async () => {
  await front.stop();
  service.close();
});

/** The value of a metric of the gateway, of the series with this label; 0 if there is none. */
async function count(metric: string, label?: string): Promise<number> {
  const series = (await scrapeSeries(front.admin)).filter(({ name }) => name === metric);
  return series.find(({ labels }) => label === undefined || Object.values(labels).includes(label))?.value ?? 0;
}

/** Returns the status of a request to the API. */
async function lookup(): Promise<number> {
  const { key, guild } = newCaller();
  const headers = { 'x-api-key': key, 'x-guild-id': guild };
  return (await fetch(`http://${front.address}${API_PREFIX}/lookup/game/8`, { headers })).status;
}

/** Sends a slash command without its last byte, from an address of its own by default. */
async function beginCommand(from = newCaller().from) {
  const socket = await openSocket(front.address, from);
  sockets.push(socket);
  let received = '';
  socket.on('data', (bytes: Buffer) => (received += bytes.toString())).on('error', () => undefined);
  const body = JSON.stringify({ type: 1, padding: 'x'.repeat(200) });
  const headers = { ...signatureOf(body), host: 'x', 'content-length': body.length };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\n`);
  socket.write(wire(`POST /interactions HTTP/1.1\n${lines.join('')}\n`) + body.slice(0, 5));
  return { send: (start: number, end?: number) => socket.write(body.slice(start, end)), text: () => received };
}

/** Sends a slash command at once. */
function send(): Promise<Response> {
  const body = JSON.stringify({ type: 1 });
  return fetch(`http://${front.address}/interactions`, { method: 'POST', headers: signatureOf(body), body });
}

test('slow bodies get a tenth of the slots in all, one for each address here, and take none from other requests', async () => {
  const before = await count('gateway_overload_rejections_total', 'interactions');
  const from = newCaller().from;
  const [first, second] = [await beginCommand(from), await beginCommand(from)];
  await expect.poll(second.text).toContain('HTTP/1.1 503');
  const commands = await Promise.all(Array.from({ length: MAX_IN_FLIGHT }, () => beginCommand()));
  const ended = (status: number) => commands.filter(({ text }) => text().includes(`HTTP/1.1 ${status}`)).length;
  expect(await count('gateway_in_flight_requests')).toBe(0);
  for (let times = 0; times < 5; times++) expect(await lookup()).toBe(200);
  // One whose body arrives with its head needs no slot.
  expect((await send()).status).toBe(200);
  // Those that were admitted end by themselves, after a second.
  await expect.poll(() => ended(408) + ended(503)).toBe(MAX_IN_FLIGHT);
  await expect.poll(first.text).toContain('HTTP/1.1 408');
  // On a busy machine a few more are admitted when the first ones have ended.
  expect(ended(503)).toBeGreaterThan(MAX_IN_FLIGHT / 2);
  expect((await count('gateway_overload_rejections_total', 'interactions')) - before).toBe(1 + ended(503));
  const next = await beginCommand(from);
  next.send(5);
  await expect.poll(next.text).toContain('HTTP/1.1 200');
});

test('slow bodies are ended after a second, however little is sent how often, and counted', async () => {
  const before = await count('gateway_interactions_total', 'incomplete');
  const command = await beginCommand();
  const begun = performance.now();
  let next = 5;
  const sending = setInterval(() => command.send(next, ++next), 100);
  await expect.poll(command.text).toContain('HTTP/1.1 408');
  clearInterval(sending);
  expect((await count('gateway_interactions_total', 'incomplete')) - before).toBe(1);
  // Node would end it after 15 seconds.
  expect(performance.now() - begun).toBeLessThan(12_000);
});
