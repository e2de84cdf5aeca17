import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { amount } from '../measure/bounds.ts';
import { openSocket, wire } from '../network/raw-http.ts';
import { readAnswers } from './bytes/client.ts';
import { entry, together } from './bytes/corpus.ts';
import { type Front, startFront } from './bytes/front.ts';
import { newCaller, sendThrough } from './bytes/through.ts';

let front: Front;
beforeAll(async () => {
  front = await startFront();
});
afterAll(() => front.stop());

/** Pieces of a text with a fixed number of bytes. */
const STEP = amount(11, 1);
const cuts = (length: number) => Array.from({ length: Math.ceil(length / STEP) }, (_, index) => index * STEP);

describe('an Upgrade', () => {
  it.each([
    ['Upgrade', 'GET'],
    ['Upgrade with a body', 'POST'],
    ['Upgrade with chunks', 'POST'],
    ['Upgrade to HTTP/2', 'GET'],
  ])('%s is ignored, and nothing behind it is answered, wherever the bytes are cut', async (name, method) => {
    const text = together(name, 'POST with a length', 'GET');
    for (const cut of cuts(text(newCaller()).length)) {
      const { faults, answers, arrived } = await sendThrough(front, text, { cuts: [cut] });
      expect(faults(), `cut at ${cut}`).toEqual([]);
      expect(answers.map(({ status }) => status)).toEqual([200]);
      expect(answers[0]?.headers).toContain('\r\nconnection: close');
      expect(arrived().map((arrival) => arrival.method)).toEqual([method]);
    }
  });

  it('behind another request gets its response after it, however the bytes are split', {
    timeout: 120_000,
  }, async () => {
    const text = together('GET', 'Upgrade with a body');
    for (const cut of cuts(text(newCaller()).length)) {
      const { faults, answers } = await sendThrough(front, text, { cuts: [cut] });
      expect(faults(), `cut at ${cut}`).toEqual([]);
      expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    }
  });

  it('a client that resets the connection during its body affects nobody else', async () => {
    const head = wire('POST /api/v1 HTTP/1.1\nHost: x\nConnection: Upgrade\nUpgrade: h2c\nContent-Length: 5\n\n');
    for (const before of ['', entry('POST with a length')(newCaller())]) {
      const socket = await openSocket(front.address);
      const answered = new Promise((resolve) => socket.once('data', resolve));
      socket.write(before + head);
      await answered;
      socket.resetAndDestroy();
    }
    const { answers } = await sendThrough(front, entry('whoami'));
    expect(answers.map(({ status }) => status)).toEqual([200]);
  });
});

describe.each(['CONNECT', 'CONNECT with a body, head alone', 'CONNECT with half a body'])('%s', (name) => {
  it.each([
    ['is answered where the caller then falls silent', [], [405]],
    ['behind another request is answered after it', ['POST with a length'], [200, 405]],
  ])('%s', async (_what, before, statuses) => {
    const caller = newCaller();
    const socket = await openSocket(front.address);
    socket.write(together(...before, name)(caller), 'latin1');
    const received = await buffer(socket);
    expect(readAnswers(received, []).map(({ status }) => status)).toEqual(statuses);
    expect(front.recorder.arrivals.get(caller.guild) ?? []).toHaveLength(before.length);
  });
});
