import { createServer } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sendRaw, wire } from '#test/network/raw-http.ts';
import { HOSTILE_BODIES, HOSTILE_HEADS } from './fixtures/hostile-responses.ts';
import { NEVER, proxyTo } from './fixtures/proxy.ts';

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'];
const soundFor = (method: string) => `HTTP/1.1 200 OK\ncontent-length: 4\n\n${method === 'HEAD' ? '' : 'here'}`;

/** Errors that would have ended the process. */
const uncaught: unknown[] = [];
const note = (error: unknown) => void uncaught.push(error);
beforeAll(() => void process.on('uncaughtException', note).on('unhandledRejection', note));
afterAll(() => void process.off('uncaughtException', note).off('unhandledRejection', note));

/** A proxy in front of a service that responds with the given bytes and closes the connection. */
async function proxyToBytes(bytesFor: (path: string) => string) {
  const service = createServer((request) => {
    request.resume();
    request.socket.on('error', () => request.socket.destroy());
    request.socket.end(wire(bytesFor(request.url ?? '')), 'latin1');
  });
  const { url } = await proxyTo(service, NEVER);
  /** Returns all bytes that the client receives. */
  return (method: string, path: string) => {
    const body = ['POST', 'PUT', 'PATCH'].includes(method) ? '{}' : '';
    const lines = body === '' ? '' : `content-length: ${body.length}\n`;
    return sendRaw(
      url.replace('http://', ''),
      `${method} ${path} HTTP/1.1\nhost: x\nconnection: close\n${lines}\n${body}`,
    );
  };
}

describe.each(METHODS)('%s', (method) => {
  /** Lets the service send each response. Returns those for which `isRight` is false, or the next request fails. */
  async function faultsOf(hostile: typeof HOSTILE_HEADS, isRight: (received: string) => boolean): Promise<string[]> {
    const send = await proxyToBytes((path) => hostile[Number(path.slice(1))]?.[1] ?? soundFor(method));
    const wrong: string[] = [];
    for (const [index, [fault]] of hostile.entries()) {
      const received = await send(method, `/${index}`);
      if (!isRight(received)) wrong.push(`${fault}: ${received.slice(0, 200)}`);
      const next = await send(method, '/sound');
      if (!next.startsWith('HTTP/1.1 200 OK\r\n')) wrong.push(`after ${fault}: ${next.slice(0, 60)}`);
    }
    return [...wrong, ...uncaught.map(String)];
  }

  test('a response whose head is malformed becomes a 503 that shows nothing of it', async () => {
    const isRight = (received: string) => received.startsWith('HTTP/1.1 503 Service Unavailable\r\n');
    expect(await faultsOf(HOSTILE_HEADS, isRight)).toEqual([]);
  });

  test('a response whose body is malformed is never relayed as a complete one', async () => {
    const isRight = (received: string) => received.startsWith('HTTP/1.1 503 ') || !received.endsWith('\r\n0\r\n\r\n');
    expect(await faultsOf(HOSTILE_BODIES, isRight)).toEqual([]);
  });
});
