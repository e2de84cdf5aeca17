import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { listening } from '#test/network/listening.ts';
import { Metrics } from '../telemetry/metrics.ts';
import { AddressList } from './client-address.ts';
import { ClientConnections } from './client-connections.ts';

const REQUEST = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';
const WRITE_TIMEOUT_MS = 1_000;
/** More than all buffers between a server and its client can hold. */
const LARGE_BYTES = 64 * 1024 * 1024;
/** The pause between reads of 64 KiB, so that the client needs several times the write timeout to read everything. */
const READ_PAUSE_MS = 4;

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

/** A server with at most 40 connections: 4 of an address without a key, 20 of a guild. Tests write its responses. */
async function startServer(trusted: string[] = []) {
  const metrics = new Metrics();
  const trustedProxies = new AddressList(trusted);
  const connections = new ClientConnections({
    maxConnections: 40,
    writeTimeoutMs: WRITE_TIMEOUT_MS,
    trustedProxies,
    metrics,
  });
  const responses: ServerResponse[] = [];
  const server = createServer((_request, response) => void responses.push(response));
  connections.watch(server);
  await connections.start();
  const { url, close } = await listening(server);
  closers.push(close, () => connections.stop());
  /** Opens a connection from 127.0.0.`n` that reads nothing. */
  const open = (n: number): Socket => {
    const socket = connect({ host: '127.0.0.1', port: Number(new URL(url).port), localAddress: `127.0.0.${n}` });
    socket.pause().on('error', () => undefined);
    socket.write(REQUEST);
    return socket;
  };
  const opened = async (n: number) => {
    const before = responses.length;
    const socket = open(n);
    await expect.poll(() => responses.length).toBe(before + 1);
    return { socket, response: responses[before] as ServerResponse };
  };
  const closed = async (reason: string) => {
    const { values = [] } = (await metrics.registry.getSingleMetric('gateway_client_disconnects_total')?.get()) ?? {};
    return values.find(({ labels }) => labels['reason'] === reason)?.value;
  };
  return { connections, open, opened, closed };
}

test('a client that reads nothing is disconnected; one that reads slowly is not', async () => {
  const { opened, closed } = await startServer();
  const [unread, slow] = [await opened(1), await opened(2)];
  for (const { response } of [unread, slow]) {
    const piece = Buffer.alloc(64 * 1024);
    // Piece by piece, as a service's response arrives.
    const write = (left: number) => void (left > 0 ? response.write(piece, () => write(left - 1)) : response.end());
    write(LARGE_BYTES / piece.length);
  }
  let read = 0;
  slow.socket.on('data', (bytes: Buffer) => {
    read += bytes.length;
    slow.socket.pause();
    setTimeout(() => slow.socket.resume(), READ_PAUSE_MS);
  });
  slow.socket.resume();
  await expect.poll(() => unread.response.destroyed).toBe(true);
  expect(unread.response.writableFinished).toBe(false);
  await expect.poll(() => read, { timeout: 50_000 }).toBeGreaterThan(LARGE_BYTES);
  expect(await closed('not_reading')).toBe(1);
});

test('a client that waits for its response is not disconnected, regardless of the duration', async () => {
  const { opened, closed } = await startServer();
  const [waiting, unread] = [await opened(1), await opened(2)];
  unread.response.end(Buffer.alloc(LARGE_BYTES));
  await expect.poll(() => unread.response.destroyed).toBe(true);
  expect(waiting.response.destroyed).toBe(false);
  expect(await closed('not_reading')).toBe(1);
});

test('an address without a valid key may have a tenth of the connections, and others are not affected', async () => {
  const { connections, open, opened, closed } = await startServer();
  const held = [await opened(1), await opened(1), await opened(1), await opened(1)];
  const reset = open(1).resume();
  await expect.poll(() => reset.destroyed).toBe(true);
  expect(await closed('address_share')).toBe(1);
  await opened(2);
  // A connection with a valid key no longer counts towards its address.
  const [first] = held;
  expect(connections.authenticated(first?.response.req.socket as Socket, 'guild')).toBe(true);
  const fifth = await opened(1);
  fifth.response.req.socket.destroy();
  await once(fifth.response, 'close');
  await opened(1);
});

test('above the share of a guild, its connections are closed after their response', async () => {
  const { connections, opened, closed } = await startServer();
  const sockets: Socket[] = [];
  const isKept = async (guild: string) => {
    const { response } = await opened(1);
    sockets.push(response.req.socket);
    return connections.authenticated(response.req.socket, guild);
  };
  for (let count = 0; count < 20; count++) expect(await isKept('one')).toBe(true);
  expect(await isKept('one')).toBe(false);
  expect(await closed('guild_share')).toBe(1);
  expect(await isKept('other')).toBe(true);
  // Connections within the share stay open for further requests.
  expect(connections.authenticated(sockets[0] as Socket, 'one')).toBe(true);
  sockets[0]?.destroy();
  await once(sockets[0] as Socket, 'close');
  expect(await isKept('one')).toBe(true);
});

test('the connections of a trusted proxy are exempt from the shares', async () => {
  const { connections, opened, closed } = await startServer(['127.0.0.9']);
  for (let count = 0; count < 30; count++) {
    const { response } = await opened(9);
    expect(connections.authenticated(response.req.socket, 'one')).toBe(true);
  }
  expect([await closed('address_share'), await closed('guild_share')]).toEqual([0, 0]);
});
