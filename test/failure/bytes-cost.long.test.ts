import { afterAll, beforeAll, expect, it } from 'vitest';
import { amount, withinBound } from '../measure/bounds.ts';
import { printFigure, round } from '../measure/figures.ts';
import { wire } from '../network/raw-http.ts';
import { type Connection, callerOf } from './bytes/callers.ts';
import { readAnswers, send } from './bytes/client.ts';
import { CORPUS } from './bytes/corpus.ts';
import { type MeteredFront, startMeteredFront } from './bytes/metered-front.ts';

/** Clients of other tests of the corpus have smaller numbers. */
const FIRST_CALLER = 60_000_000;
const MAX_BYTES = 16 * 1024;
/** CPU time of the gateway's main thread, for which every other client waits. */
const MAX_CPU_MS = 2;
/**
 * Thousands of chunks in one packet: a bare Node server needs 1.6 ms to parse them, before any of our code runs
 * in it. Our own part is within the same 2 ms.
 */
const CHUNK_FLOODS = ['2,500 chunks', '2,500 chunks without a key'];
const MAX_CHUNK_FLOOD_CPU_MS = 3.6;
const TIMES = amount(5, 50);
const WARM_UP = amount(2, 20);

let front: MeteredFront;
beforeAll(async () => {
  front = await startMeteredFront();
});
afterAll(() => front.stop());

let callers = FIRST_CALLER;
const whoami = ({ key }: Connection) => wire(`GET /api/v1/whoami HTTP/1.1\nHost: x\nX-API-Key: ${key}\n\n`);

/** Sends a request with a cached key; returns its CPU time in milliseconds. */
async function costOf(bytes: (caller: Connection) => string): Promise<number> {
  const caller = callerOf(++callers);
  const exchange = (text: string) =>
    send(front.address, { bytes: Buffer.from(text, 'latin1'), cuts: [], from: caller.from });
  await exchange(whoami(caller));
  const before = await front.cpu();
  const received = await exchange(bytes(caller));
  const after = await front.cpu();
  expect(readAnswers(received, [bytes(caller).startsWith('HEAD') ? 'HEAD' : 'GET'])).toHaveLength(1);
  return (after - before) / 1000;
}

const warm = ['GET', 'POST with a length', 'one chunk', 'whoami', 'HEAD', '20 options'];
const GENERAL_WARM_UP = amount(20, 100);

async function medianCost(bytes: (caller: Connection) => string): Promise<number> {
  for (let time = 0; time < WARM_UP; time++) await costOf(bytes);
  const costs: number[] = [];
  for (let time = 0; time < TIMES; time++) costs.push(await costOf(bytes));
  return costs.toSorted((a, b) => a - b)[TIMES >> 1] as number;
}

it('no request of the corpus under 16 KiB costs more than 2 ms of the gateway, less what parsing chunks costs Node', {
  timeout: 600_000,
}, async () => {
  const small = CORPUS.filter(({ bytes }) => bytes(callerOf(FIRST_CALLER)).length < MAX_BYTES);
  for (const { bytes } of small.filter(({ name }) => warm.includes(name))) {
    for (let time = 0; time < GENERAL_WARM_UP; time++) await costOf(bytes);
  }
  const costs: [name: string, ms: number][] = [];
  for (const { name, bytes } of small) costs.push([name, await medianCost(bytes)]);
  const sorted = costs.toSorted(([, a], [, b]) => b - a);
  printFigure(
    'the most expensive requests, ms of CPU',
    sorted
      .slice(0, 8)
      .map(([name, ms]) => `${round(ms)} ${name}`)
      .join('; '),
  );
  expect(costs.length).toBeGreaterThan(250);
  const isFlood = ([name]: [string, number]) => CHUNK_FLOODS.includes(name);
  const [dearest = ['', Number.POSITIVE_INFINITY]] = sorted.filter((cost) => !isFlood(cost));
  withinBound(`gateway CPU of the dearest request, ${dearest[0]}`, dearest[1], MAX_CPU_MS);
  const [flood = ['', Number.POSITIVE_INFINITY]] = sorted.filter(isFlood);
  withinBound(`gateway CPU of ${flood[0]}`, flood[1], MAX_CHUNK_FLOOD_CPU_MS);
});
