import { createServer, get, type Server } from 'node:http';
import { afterEach, expect, test } from 'vitest';
import { listening } from '#test/network/listening.ts';
import { relayResponse } from './relay.ts';

const PATIENCE_MS = 5_000;

const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

async function listen(server: Server): Promise<string> {
  const { url, close } = await listening(server);
  closers.push(close);
  return url;
}

test.each([
  ['with a length', { 'content-length': '100' }],
  ['in chunks', {}],
])('a response %s that the service cuts off is cut off for the client too', async (_framing, headers) => {
  const service = createServer((_request, response) => {
    response.writeHead(200, headers);
    response.write('the first half', () => response.socket?.resetAndDestroy());
  });
  const target = await listen(service);
  const front = createServer((_request, response) => {
    get(target, (incoming) => relayResponse(incoming, response)).on('error', () => undefined);
  });
  const response = await fetch(await listen(front), { signal: AbortSignal.timeout(PATIENCE_MS) });
  await expect(response.text()).rejects.toThrow('terminated');
});
