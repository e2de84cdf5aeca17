import type { Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { amount } from '../measure/bounds.ts';
import { printFigure } from '../measure/figures.ts';
import { openSocket, wire } from '../network/raw-http.ts';
import { seededRandom, shuffled } from '../random.ts';
import { readAnswers, send } from './bytes/client.ts';
import { CORPUS, entry, together } from './bytes/corpus.ts';
import { type Front, startFront } from './bytes/front.ts';
import { fuzz } from './bytes/fuzz.ts';
import type { Caller } from './bytes/oracle.ts';
import { newCaller, sendThrough, type Through } from './bytes/through.ts';

/** Differs in every run and is printed, so that a run can be repeated. */
/** The short form uses a fixed seed; the long form a random one, which it prints. */
const SEED = Number(process.env['FUZZ_SEED'] ?? amount(1, Date.now() % 2 ** 31));

let front: Front;
const warnings: string[] = [];
const warned = ({ message }: Error) => void warnings.push(message);

beforeAll(async () => {
  process.on('warning', warned);
  front = await startFront();
});
afterAll(async () => {
  await front.stop();
  process.off('warning', warned);
});

const trio = together('POST with a length', 'trailers', 'GET');
const lengthOf = (text: typeof trio) => text(newCaller()).length;

/** Positions in a text: all in the long form, a sample in the short form. */
function places(text: typeof trio, most = 100): number[] {
  const random = seededRandom(SEED);
  const all = Array.from({ length: lengthOf(text) }, (_, index) => index);
  return shuffled(random, all).slice(0, amount(most, all.length));
}

describe('every request arrives exactly once, byte for byte, or not at all', () => {
  it.each(CORPUS)('$name: $outcome', async ({ bytes, outcome }) => {
    const { faults, answers, arrived } = await sendThrough(front, bytes);
    expect(faults()).toEqual([]);
    const code = outcome === 'passes' || outcome === 'answered here' ? undefined : outcome;
    const isHead = bytes({ guild: '', key: '' }).startsWith('HEAD');
    expect(answers.map((answer) => answer.code)).toEqual([isHead ? undefined : code]);
    expect(answers.map(({ status }) => status < 400)).toEqual([code === undefined]);
    expect(arrived()).toHaveLength(outcome === 'passes' ? 1 : 0);
    const always = code ? ['cache-control: no-store', 'x-content-type-options: nosniff'] : [];
    for (const header of ['x-request-id: ', ...always]) expect(answers[0]?.headers).toContain(header);
  });

  it('three pipelined requests, split in two at any byte', { timeout: 120_000 }, async () => {
    for (const cut of places(trio)) {
      const { faults, arrived } = await sendThrough(front, trio, { cuts: [cut] });
      expect(faults(), `cut at ${cut}, seed ${SEED}`).toEqual([]);
      expect(arrived()).toHaveLength(3);
    }
  });

  it('three pipelined requests, sent byte by byte', async () => {
    const { faults, arrived } = await sendThrough(front, trio, { cuts: [...Array(lengthOf(trio)).keys()] });
    expect(faults()).toEqual([]);
    expect(arrived()).toHaveLength(3);
  });

  it('of a client that disconnects after any byte: whole requests in order, or none', {
    timeout: 120_000,
  }, async () => {
    const sent: Through[] = [];
    for (const abortAt of [...places(trio), lengthOf(trio)]) {
      sent.push(await sendThrough(front, trio, { abortAt, cuts: [abortAt >> 1] }));
    }
    // The last ones may still be in flight.
    await expect.poll(() => sent.at(-1)?.arrived().length).toBeLessThanOrEqual(3);
    expect(
      sent.flatMap(({ faults }) => faults()),
      `seed ${SEED}`,
    ).toEqual([]);
  });

  it('a fuzzed corpus, from a seed that is printed', { timeout: 600_000 }, async () => {
    const cases = Number(process.env['FUZZ_CASES'] ?? amount(10_000, 100_000));
    const started = performance.now();
    const { failures, arrived, rejected } = await fuzz(front, { cases, seed: SEED });
    const seconds = Math.round((performance.now() - started) / 1000);
    const figure = `${cases} connections, seed ${SEED}: ${arrived} requests arrived, ${rejected} rejected, ${seconds} s`;
    printFigure('fuzzed bytes', figure);
    expect(failures.slice(0, 10)).toEqual([]);
    expect([arrived > cases / 2, rejected > cases / 4]).toEqual([true, true]);
  });
});

describe('a client that waits for 100 Continue before it sends its body', () => {
  const head = (caller: Caller, more = '') =>
    wire(`POST /api/v1/lookup/status HTTP/1.1\nHost: x\nX-API-Key: ${caller.key}\nContent-Length: 2\n`) +
    wire(`Expect: 100-continue\n${more}\n`);

  /** The head of the request. */
  async function firstAnswer(text: string): Promise<{ text: string; socket: Awaited<ReturnType<typeof openSocket>> }> {
    const socket = await openSocket(front.address);
    const first = new Promise<Buffer>((resolve) => socket.once('data', resolve));
    socket.write(text);
    return { text: String(await first), socket };
  }

  it('gets it after all checks have passed, and then its response', async () => {
    const caller = newCaller();
    const { text, socket } = await firstAnswer(head(caller));
    expect(text).toBe('HTTP/1.1 100 Continue\r\n\r\n');
    expect(front.recorder.arrivals.has(caller.guild)).toBe(false);
    const answer = new Promise<Buffer>((resolve) => socket.once('data', resolve));
    socket.write('{}');
    expect(String(await answer)).toMatch(/^HTTP\/1\.1 200 /);
    const [arrived] = front.recorder.arrivals.get(caller.guild) ?? [];
    expect(String(arrived?.body)).toBe('{}');
    socket.destroy();
  });

  it.each([
    ['without a key', 401, (caller: Caller) => head(caller).replace('X-API-Key', 'X-Other')],
    ['for another guild', 403, (caller: Caller) => head(caller, 'X-Guild-ID: 900000000000000009\n')],
    ['with too much to send', 413, (caller: Caller) => head(caller).replace('Length: 2', 'Length: 65537')],
    ['where there is nothing', 404, (caller: Caller) => head(caller).replace('/status', '/nothing')],
    ['with an odd expectation', 417, (caller: Caller) => head(caller).replace('100-continue', 'tea')],
    ['with a header that is rejected', 400, (caller: Caller) => head(caller, 'X_A: b\n')],
  ])('%s is rejected with %i in its place, and what it still sends is no request', async (_why, status, text) => {
    const caller = newCaller();
    const { text: answer, socket } = await firstAnswer(text(caller));
    expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    expect(answer.toLowerCase()).toContain('\r\nconnection: close\r\n');
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.on('error', () => undefined);
    socket.write(entry('GET')(caller));
    await closed;
    expect(front.recorder.arrivals.has(caller.guild)).toBe(false);
  });
});

describe('connections', () => {
  it('pipelined requests are forwarded one after the other, in the order of their responses', async () => {
    const names = Array.from({ length: 11 }, (_, index) => (index % 2 ? 'GET' : 'POST with a length'));
    const { faults, arrived } = await sendThrough(front, together(...names));
    expect(faults()).toEqual([]);
    expect(arrived().map(({ method }) => method)).toEqual(names.map((name) => name.split(' ')[0]));
  });

  it('a client that keeps sending without waiting is disconnected', async () => {
    const caller = newCaller();
    const socket = await openSocket(front.address);
    socket.on('error', () => undefined);
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.resume();
    socket.write(entry('GET')(caller).repeat(12));
    await closed;
    expect(front.recorder.arrivals.get(caller.guild)?.length ?? 0).toBeLessThanOrEqual(11);
  });

  it('the last response is not lost if the client has sent more than was read', async () => {
    const body = 'x'.repeat(900_000);
    for (let round = 0; round < 10; round += 1) {
      const { answers } = await sendThrough(front, ({ key }) =>
        wire(`GET /api/v1/whoami HTTP/1.1\nHost: x\nX-API-Key: ${key}\nContent-Length: ${body.length}\n\n${body}`),
      );
      expect(answers.map(({ status }) => status)).toEqual([400]);
    }
  });

  it.each([
    ['no request', 'GARBAGE\r\n\r\n'],
    ['a rejected request', wire('GET /api/v1/../x HTTP/1.1\nHost: x\n\n')],
    ['CONNECT', wire('CONNECT x:80 HTTP/1.1\nHost: x\n\n')],
  ])('after %s a client that keeps its side of the connection open is disconnected', async (_what, text) => {
    const socket = await openSocket(front.address);
    socket.on('error', () => undefined);
    socket.allowHalfOpen = true;
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.resume();
    socket.write(text);
    const dripping = setInterval(() => socket.write('x'), 50);
    await closed;
    clearInterval(dripping);
    expect(socket.destroyed).toBe(true);
  });

  const poll = ({ key, guild }: Caller) =>
    wire(`GET /api/v1/game/servers/s/commands?wait=25 HTTP/1.1\nHost: x\nX-API-Key: ${key}\nX-Guild-ID: ${guild}\n\n`);

  /** Resolves with the response of a poll that has reached the service. */
  async function answerPoll(socket: Socket): Promise<string> {
    await expect.poll(() => front.recorder.held).toHaveLength(1);
    const answer = new Promise<Buffer>((resolve) => socket.once('data', resolve));
    front.recorder.held.shift()?.();
    return String(await answer);
  }

  it('a poll of a half-closed client does not wait and is not counted as success', async () => {
    const polls = async () => {
      const text = await (await fetch(`http://${front.admin}/metrics`)).text();
      return text.match(/^http_requests_total\{route="pollCommands".* [1-9]\d*$/gm);
    };
    const caller = newCaller();
    const started = performance.now();
    const received = await send(front.address, { bytes: Buffer.from(poll(caller)), cuts: [], from: caller.from });
    expect(performance.now() - started).toBeLessThan(10_000);
    expect(String(received)).toBe('');
    front.recorder.held.length = 0;
    await expect.poll(polls).toEqual(['http_requests_total{route="pollCommands",method="GET",code="499"} 1']);
  });

  it('a request that was rejected for its body while it waited in the pipeline is not processed again', async () => {
    // Counted by its route, which no other test here uses.
    const judged = async () => {
      const text = await (await fetch(`http://${front.admin}/metrics`)).text();
      return [...text.matchAll(/^http_requests_total\{route="checkShieldBatch".*\} [1-9]\d*$/gm)].length;
    };
    const caller = newCaller();
    const socket = await openSocket(front.address);
    const received = buffer(socket);
    const broken = wire(
      `POST /api/v1/shield/batch HTTP/1.1\nHost: x\nX-API-Key: ${caller.key}\nTransfer-Encoding: chunked\n\ng\n`,
    );
    socket.write(poll(caller) + broken);
    await answerPoll(socket);
    expect(readAnswers(await received, []).map(({ status }) => status)).toEqual([200, 400]);
    expect(await judged()).toBe(0);
  });

  it.each(['GET', 'whoami'])('a client may poll repeatedly, then send %s and half-close', async (name) => {
    const caller = newCaller();
    const socket = await openSocket(front.address);
    for (let count = 0; count < 12; count += 1) {
      socket.write(poll(caller));
      expect(await answerPoll(socket)).toMatch(/^HTTP\/1\.1 200 /);
    }
    const rest = buffer(socket);
    socket.end(entry(name)(caller));
    expect(readAnswers(await rest, []).map(({ status }) => status)).toEqual([200]);
  });
});

it('no event listener leaked, and Node printed no warning', () => {
  expect(warnings).toEqual([]);
});
