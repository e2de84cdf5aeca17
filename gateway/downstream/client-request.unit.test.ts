import { createServer } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { addressOf, listen } from '#kit/service/address.ts';
import { sendRaw } from '#test/network/raw-http.ts';
import { ClientRequest } from './client-request.ts';

/** Responds with the body and the sizes of the pieces in which it was passed on. */
const server = createServer({ IncomingMessage: ClientRequest }, (request, response) => {
  const pieces: Buffer[] = [];
  request.on('data', (piece: Buffer) => pieces.push(piece));
  request.on('end', () => {
    const body = Buffer.concat(pieces).toString('latin1');
    response.setHeader('connection', 'close').end(JSON.stringify({ sizes: pieces.map(({ length }) => length), body }));
  });
});
beforeAll(() => listen(server, '127.0.0.1', 0));
afterAll(() => server.close());

const HEAD = 'POST / HTTP/1.1\nHost: x\nTransfer-Encoding: chunked\n\n';
const chunk = (text: string) => `${text.length.toString(16)}\n${text}\n`;

async function receive(body: string): Promise<{ sizes: number[]; body: string }> {
  const received = await sendRaw(addressOf(server), `${HEAD}${body}0\n\n`);
  return JSON.parse(received.slice(received.indexOf('\r\n\r\n') + 4).replace(/^[\da-f]+\r\n|\r\n0\r\n\r\n$/g, ''));
}

test('thousands of chunks in one packet are combined into a few pieces, complete and in order', async () => {
  const text = Array.from({ length: 2_000 }, (_, index) => String.fromCharCode(33 + (index % 90))).join('');
  const { sizes, body } = await receive(text.split('').map(chunk).join(''));
  expect(body).toBe(text);
  expect(sizes.length).toBeLessThan(20);
});

test('small and large chunks keep their order', async () => {
  const pieces = Array.from({ length: 60 }, (_, index) => String(index % 10).repeat(index % 3 === 0 ? 1_000 : 3));
  const { body } = await receive(pieces.map(chunk).join(''));
  expect(body).toBe(pieces.join(''));
});

test('an empty body and a body larger than one batch arrive complete', async () => {
  expect(await receive('')).toEqual({ sizes: [], body: '' });
  const { sizes, body } = await receive(chunk('x'.repeat(250)).repeat(100));
  expect([body.length, sizes.reduce((sum, size) => sum + size, 0)]).toEqual([25_000, 25_000]);
});
