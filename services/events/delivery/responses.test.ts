import { createServer, type Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import packageJson from '../../../package.json' with { type: 'json' };
import { createSender, post, response, serve, serveRaw } from './fixture.ts';

const TIMEOUT_MS = 300;

/** Sends to a server that answers like this, and returns the result, the server and the bytes that the server sent. */
async function postTo(answer: (socket: Socket) => void, timeoutMs = 5_000) {
  let sent = () => 0;
  const server = await serveRaw((socket) => {
    sent = () => socket.bytesWritten;
    answer(socket);
  });
  const result = await post(createSender(), `http://hooks.example:${server.port}/in`, { timeoutMs });
  return { result, server, sent: () => sent() };
}

/** Writes a chunk again and again, as fast as the other side reads it, until the connection is closed. */
function flood(socket: Socket, chunk: string): void {
  while (!socket.destroyed && socket.writable) if (!socket.write(chunk)) break;
  if (!socket.destroyed) socket.once('drain', () => flood(socket, chunk));
}

/** Writes a beginning at once, and then the same bytes every 20 ms. */
function drip(socket: Socket, start: string, byte: string): void {
  socket.write(start);
  const timer = setInterval(() => socket.write(byte), 20);
  socket.on('close', () => clearInterval(timer));
}

test('a delivery is a POST request with the given headers and body, the product and no compression', async () => {
  const server = await serveRaw((socket) => socket.write(response('thanks')));
  const request = { headers: { 'webhook-id': 'an ID' }, body: '{"text":"ü"}' };
  const result = await post(createSender(), `http://hooks.example:${server.port}/in?a=1`, request);
  expect(result).toEqual({
    status: 200,
    latencyMs: expect.any(Number),
    error: null,
    answer: 'thanks',
    isOurFault: false,
  });
  const [start, ...headers] = server.received.split('\r\n\r\n')[0]?.split('\r\n') ?? [];
  expect(start).toBe('POST /in?a=1 HTTP/1.1');
  expect(headers.map((line) => line.toLowerCase()).sort()).toEqual([
    'accept-encoding: identity',
    'accept: */*',
    'connection: keep-alive',
    'content-length: 13',
    'content-type: application/json',
    `host: hooks.example:${server.port}`,
    `user-agent: guild-data/${packageJson.version}`,
    'webhook-id: an id',
  ]);
});

test.each([301, 302, 303, 307, 308])(
  'a redirect (%i) to a private address is a response and is not followed',
  async (status) => {
    const target = await serveRaw((socket) => socket.write(response('secret')));
    const head = `HTTP/1.1 ${status} Moved\r\nlocation: http://127.0.0.1:${target.port}/`;
    const { result } = await postTo((socket) => socket.write(response('moved', head)));
    expect(result).toMatchObject({ status, error: null, answer: 'moved' });
    expect(target.connections).toBe(0);
  },
);

test.each([204, 400, 410, 500])('a response with status %i is no error', async (status) => {
  const { result } = await postTo((socket) => socket.write(response('', `HTTP/1.1 ${status} Status`)));
  expect(result).toMatchObject({ status, error: null });
});

test.each([
  ['sends nothing', () => undefined, null],
  ['sends its headers byte by byte', (socket: Socket) => drip(socket, 'HTTP/1.1 200 OK\r\na: ', 'a'), null],
  ['sends its body byte by byte', (socket: Socket) => drip(socket, 'HTTP/1.1 200 OK\r\n\r\n', 'a'), 200],
  ['sends interim responses slowly', (socket: Socket) => drip(socket, '', 'HTTP/1.1 100 Continue\r\n\r\n'), null],
])('a server that %s is cut at the timeout', async (_, answer, status) => {
  const { result } = await postTo(answer, TIMEOUT_MS);
  expect(result).toMatchObject({ status, error: 'timeout', isOurFault: false });
  expect(result.latencyMs).toBeGreaterThanOrEqual(TIMEOUT_MS - 1);
  expect(result.latencyMs).toBeLessThan(10 * TIMEOUT_MS);
});

test('of a body without end about 64 KiB are read; the response counts with its status', async () => {
  const { result, sent } = await postTo((socket) => {
    socket.write('HTTP/1.1 200 OK\r\n\r\n');
    flood(socket, 'b'.repeat(16_384));
  });
  expect(result).toMatchObject({ status: 200, error: null, answer: 'b'.repeat(1024) });
  // The rest was in the buffers of the sockets.
  expect(sent()).toBeLessThan(16 * 1024 * 1024);
});

test('headers without end, and many headers, are cut at 16 KiB', async () => {
  for (const chunk of ['a'.repeat(16_384), 'name: value\r\n'.repeat(1_000)]) {
    const { result } = await postTo((socket) => {
      socket.write('HTTP/1.1 200 OK\r\n');
      flood(socket, chunk);
    });
    expect(result).toMatchObject({ status: null, error: 'too many headers' });
  }
});

test('trailers without end are cut too', async () => {
  const { result } = await postTo((socket) => {
    socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n0\r\n');
    flood(socket, `t: ${'a'.repeat(8_000)}\r\n`);
  });
  expect(result).toMatchObject({ status: 200, error: 'too many headers' });
});

test('interim responses without end are cut', async () => {
  const { result } = await postTo((socket) =>
    flood(socket, `HTTP/1.1 103 Early Hints\r\na: ${'b'.repeat(8_000)}\r\n\r\n`),
  );
  expect(result).toMatchObject({ status: null, error: 'too many headers' });
});

test('interim responses before the final one are ignored', async () => {
  const interim = 'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: <a>\r\n\r\n';
  const { result } = await postTo((socket) => socket.write(interim + response('ok')));
  expect(result).toMatchObject({ status: 200, error: null, answer: 'ok' });
});

test('a switch of protocols is not accepted', async () => {
  const head = 'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n';
  let isClosed = false;
  const { result } = await postTo((socket) => socket.on('close', () => (isClosed = true)).write(head));
  expect(result).toMatchObject({ status: 101, error: 'malformed response' });
  await expect.poll(() => isClosed).toBe(true);
});

test('a compressed body is not decompressed, so it costs only its own size', async () => {
  const bomb = gzipSync(Buffer.alloc(50 * 1024 * 1024));
  expect(bomb.length).toBeLessThan(64 * 1024);
  const { result } = await postTo((socket) => {
    socket.write(`HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: ${bomb.length}\r\n\r\n`);
    socket.write(bomb);
  });
  expect(result).toMatchObject({ status: 200, error: null });
  expect(result.answer.length).toBeLessThanOrEqual(1024);
});

test.each([
  ['no HTTP at all', 'SSH-2.0-OpenSSH_9.9\r\n', 'malformed response'],
  ['two lengths', 'HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab', 'malformed response'],
  [
    'a length and chunks',
    'HTTP/1.1 200 OK\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n',
    'malformed response',
  ],
  ['a malformed header', 'HTTP/1.1 200 OK\r\nbad header: 1\r\n\r\n', 'malformed response'],
])('a response with %s is an error', async (_, text, error) => {
  const { result } = await postTo((socket) => socket.end(text));
  expect(result).toMatchObject({ error, answer: '' });
});

test.each([
  ['before a response', ''],
  ['within the headers', 'HTTP/1.1 200 OK\r\ncontent'],
  ['within the body', 'HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf'],
])('a connection that is closed %s is an error', async (_, text) => {
  for (const close of [
    (socket: Socket) => socket.end(text),
    (socket: Socket) => socket.write(text, () => socket.resetAndDestroy()),
  ]) {
    const { result } = await postTo(close);
    expect(result).toMatchObject({ error: 'connection closed', isOurFault: false });
  }
});

test('the answer has no character that a text of the database cannot store', async () => {
  const { result } = await postTo((socket) => socket.write(response('a\u0000b\u001bc\nü')));
  expect(result.answer).toBe('a\ufffdb\ufffdc\nü');
  const { result: cut } = await postTo((socket) => socket.write(response(`a${'ü'.repeat(600)}`)));
  expect(cut.answer).toBe(`a${'ü'.repeat(511)}`);
});

test('a server that responds without reading the request ends the delivery, and the rest is not sent', async () => {
  let read: number | undefined;
  const server = createServer({ pauseOnConnect: true }, (socket) => {
    socket.on('close', () => (read = socket.bytesRead)).write(response('early'));
    setTimeout(() => socket.resume(), TIMEOUT_MS);
  });
  const port = await serve(server);
  const body = 'b'.repeat(30_000_000);
  const result = await post(createSender(), `http://hooks.example:${port}/`, { body });
  expect(result).toMatchObject({ status: 200, error: null, answer: 'early' });
  await expect.poll(() => read).toBeDefined();
  expect(read).toBeLessThan(body.length);
});
