import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { withinBound } from '../measure/bounds.ts';
import { openSocket, wire } from '../network/raw-http.ts';
import { type Front, startFront } from './bytes/front.ts';
import { newCaller } from './bytes/through.ts';

let front: Front;

beforeAll(async () => {
  front = await startFront();
});
afterAll(() => front.stop());

const DRIP_MS = 500;
/** Time limit for receiving a request; headers have a shorter one. Node checks once a second. */
const HEADERS_MS = 10_000 + 1_000;
const REQUEST_MS = 15_000 + 1_000;

/** Sends the first bytes, then single bytes slowly; returns everything received, and the duration. */
async function drip(beginning: string): Promise<{ answer: string; ms: number }> {
  const socket = await openSocket(front.address);
  const started = performance.now();
  socket.write(beginning);
  const dripping = setInterval(() => socket.writable && socket.write('x'), DRIP_MS);
  const answer = await text(socket);
  clearInterval(dripping);
  return { answer, ms: performance.now() - started };
}

it.concurrent('a client whose headers do not end gets 408', { timeout: 200_000 }, async () => {
  const { answer, ms } = await drip('GET /api/v1/whoami HTTP/1.1\r\nHost: x\r\nX-Slow: ');
  withinBound('headers that do not end', ms, HEADERS_MS + DRIP_MS);
  expect([answer.slice(0, 12), answer.includes('REQUEST_TIMEOUT')]).toEqual(['HTTP/1.1 408', true]);
});

it.concurrent('a client whose body does not end gets 408, and no service receives the request', {
  timeout: 200_000,
}, async () => {
  const { guild, key } = newCaller();
  const head = wire(`POST /api/v1/lookup/status HTTP/1.1\nHost: x\nX-API-Key: ${key}\nContent-Length: 60000\n\n`);
  const { answer, ms } = await drip(head);
  withinBound('a body that does not end', ms, REQUEST_MS + DRIP_MS);
  expect([answer.slice(0, 12), answer.includes('REQUEST_TIMEOUT')]).toEqual(['HTTP/1.1 408', true]);
  expect(front.recorder.arrivals.has(guild)).toBe(false);
});
