import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test, vi } from 'vitest';
import { ClientDisconnected } from '../downstream/client-disconnected.ts';
import { Breakers } from '../resilience/breaker.ts';
import { Metrics } from '../telemetry/metrics.ts';
import { Upstream, type UpstreamRequest } from './upstream.ts';

/** The timeout of services that are expected to reach it. */
const TIMEOUT_MS = 500;
/** That of all others. */
const PATIENT_MS = 10_000;
const MAX_BYTES = 10;
const REQUEST: UpstreamRequest = { method: 'GET', target: '/', headers: {}, body: undefined };

let service: Server | undefined;
let upstream: Upstream | undefined;

afterEach(async () => {
  await upstream?.stop();
  service?.closeAllConnections();
  await new Promise((resolve) => service?.close(resolve));
});

/** Starts an HTTP server, and returns an Upstream that sends requests to it. */
async function serve(handle: RequestListener, timeoutMs = PATIENT_MS): Promise<Upstream> {
  const started = createServer(handle);
  service = started;
  await new Promise<void>((resolve) => started.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(started.address() as AddressInfo).port}`;
  const breakers = new Breakers(new Metrics());
  upstream = new Upstream({ name: 'boats', url, timeoutMs, breakers, tls: undefined });
  return upstream;
}

/** Sends the head and the first bytes of a response, and never ends it. */
const stall: RequestListener = (_request, response) => void response.write('begun');

test('an exchange returns the whole body', async () => {
  const boats = await serve((_request, response) => void response.end('0123456789'));
  expect((await boats.exchange(REQUEST, MAX_BYTES)).toString()).toBe('0123456789');
});

test('an exchange with a service that sends no response fails with TIMEOUT', async () => {
  const boats = await serve(() => undefined, TIMEOUT_MS);
  await expect(boats.exchange(REQUEST, MAX_BYTES)).rejects.toMatchObject({ code: 'TIMEOUT' });
});

test('an exchange whose body does not end in time fails with TIMEOUT and closes the connection', async () => {
  const closed = vi.fn<() => void>();
  const boats = await serve((request, response) => {
    response.once('close', closed);
    stall(request, response);
  }, TIMEOUT_MS);
  await expect(boats.exchange(REQUEST, MAX_BYTES)).rejects.toMatchObject({ code: 'TIMEOUT' });
  await vi.waitFor(() => expect(closed).toHaveBeenCalled());
});

test('the circuit breaker opens if bodies do not end in time', async () => {
  const boats = await serve(stall, TIMEOUT_MS);
  await Promise.allSettled(Array.from({ length: 10 }, () => boats.exchange(REQUEST, MAX_BYTES)));
  await expect(boats.exchange(REQUEST, MAX_BYTES)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
});

test('an exchange whose connection is lost within the body fails with UNAVAILABLE', async () => {
  const boats = await serve((_request, response) => {
    response.write('begun', () => response.destroy());
  });
  await expect(boats.exchange(REQUEST, MAX_BYTES)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
});

test('an exchange whose body is too large fails with PAYLOAD_TOO_LARGE', async () => {
  const boats = await serve((_request, response) => void response.end('0123456789x'));
  await expect(boats.exchange(REQUEST, MAX_BYTES)).rejects.toMatchObject({ code: 'PAYLOAD_TOO_LARGE' });
});

test('an exchange whose signal is aborted fails with ClientDisconnected', async () => {
  const left = new AbortController();
  const boats = await serve((_request, response) => void response.write('begun', () => left.abort()));
  await expect(boats.exchange({ ...REQUEST, signal: left.signal }, MAX_BYTES)).rejects.toThrow(ClientDisconnected);
});

test('a response that is sent on has no timeout after its head', async () => {
  const boats = await serve((_request, response) => {
    response.write('begun ');
    setTimeout(() => response.end('and ended'), 2 * TIMEOUT_MS);
  }, TIMEOUT_MS);
  const pieces: Buffer[] = [];
  for await (const piece of (await boats.send(REQUEST)) as AsyncIterable<Buffer>) pieces.push(piece);
  expect(Buffer.concat(pieces).toString()).toBe('begun and ended');
});
