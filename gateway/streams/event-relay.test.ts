import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { afterEach, expect, test } from 'vitest';
import { asApiError } from '#kit/errors.ts';
import { sendError } from '#kit/http/envelope.ts';
import { Breakers } from '#kit/resilience/breaker.ts';
import { Metrics } from '#kit/telemetry/metrics.ts';
import { ROUTES } from '#proto/rest/index.ts';
import { openStream } from '#test/network/event-stream.ts';
import { listening } from '#test/network/listening.ts';
import { Proxy } from '../upstream/proxy.ts';
import { EventRelay, type StreamEnd, StreamEnded } from './event-relay.ts';

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

/** Starts a service with this handler, and a gateway's proxy that relays its responses as streams. */
async function relayFrom(handle: (response: ServerResponse) => void, silentMs?: number) {
  const services: ServerResponse[] = [];
  const service = await listening(
    createServer((_request, response) => {
      services.push(response);
      handle(response);
    }),
  );
  const breakers = new Breakers(new Metrics());
  const addresses = Object.fromEntries(ROUTES.map((route) => [route.service, service.url]));
  const proxy = new Proxy({ services: addresses, timeoutMs: 5_000, breakers, metrics: new Metrics() });
  const relays: EventRelay[] = [];
  const ends: StreamEnd[] = [];
  const front = await listening(
    createServer((request, response) => {
      const relay = new EventRelay({ response, ended: (end) => ends.push(end), ...(silentMs && { silentMs }) });
      relays.push(relay);
      proxy.openStream({ request, response, body: undefined, relay }, 'events').catch((error: unknown) => {
        if (error instanceof StreamEnded) response.end(`ended: ${error.end}`);
        else sendError(response, asApiError(error));
      });
    }),
  );
  closers.push(
    service.close,
    () => breakers.stop(),
    () => proxy.stop(),
    front.close,
  );
  return { services, relays, ends, open: () => openStream(front.url) };
}

const frame = (seq: number, text = '') => `id: ${seq}\ndata: ${text}\n\n`;
const begin = (response: ServerResponse) =>
  response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();

test('an event that has arrived in part is not relayed, however it was cut', async () => {
  const { services, open, ends } = await relayFrom(begin);
  const reader = await open();
  const [service] = services;
  for (const byte of frame(1, 'one') + frame(2, 'two')) {
    service?.write(byte);
    await new Promise(setImmediate);
  }
  service?.write(`${frame(3, 'three')}${frame(4, 'four').slice(0, -1)}`);
  await expect.poll(() => reader.seqs).toEqual([1, 2, 3]);
  service?.destroy();
  await expect.poll(() => reader.hasEnded).toBe(true);
  expect(reader).toMatchObject({ isCut: false, rest: '', seqs: [1, 2, 3] });
  expect(reader.retry).toBeGreaterThan(0);
  expect(ends).toEqual(['lost']);
});

test('a stream that the service ends has only what the service sent', async () => {
  const { services, open, ends } = await relayFrom(begin);
  const reader = await open();
  services[0]?.end(`${frame(1)}retry: 70000\n\n`);
  await expect.poll(() => reader.hasEnded).toBe(true);
  expect(reader).toMatchObject({ isCut: false, seqs: [1], retry: 70_000 });
  expect(ends).toEqual(['service']);
});

test('a service that sends nothing for too long is lost', async () => {
  const { services, open, ends } = await relayFrom(begin, 300);
  const reader = await open();
  services[0]?.write(frame(1));
  await expect.poll(() => reader.hasEnded).toBe(true);
  expect(reader.retry).toBeGreaterThan(0);
  expect(ends).toEqual(['lost']);
  await expect.poll(() => services[0]?.destroyed).toBe(true);
});

test('a service that sends an event of more than 64 KiB is lost', async () => {
  const { services, open, ends } = await relayFrom(begin);
  const reader = await open();
  services[0]?.write(frame(1) + 'x'.repeat(70_000));
  await expect.poll(() => reader.hasEnded).toBe(true);
  expect(reader.seqs).toEqual([1]);
  expect(ends).toEqual(['lost']);
});

test('a client that does not read stops the service, and its stream can be ended all the same', async () => {
  const { services, open, relays, ends } = await relayFrom(begin);
  const reader = await open();
  reader.pause();
  const [service] = services as [ServerResponse];
  let seq = 0;
  // The buffers of the operating system take some megabytes.
  while (seq < 10_000 && service.writableLength < 1024 * 1024) {
    if (!service.write(frame(++seq, 'x'.repeat(10_000)))) await Promise.race([once(service, 'drain'), immediate()]);
  }
  expect(service.writableLength).toBeGreaterThanOrEqual(1024 * 1024);
  relays[0]?.end('key');
  await expect.poll(() => service.destroyed).toBe(true);
  reader.response.resume();
  await expect.poll(() => reader.hasEnded).toBe(true);
  expect(reader.retry).toBeUndefined();
  expect(ends).toEqual(['key']);
});

const immediate = () => new Promise((resolve) => setImmediate(resolve));

test('a stream that is ended before the service has responded never begins', async () => {
  const { services, open, relays, ends } = await relayFrom(() => undefined);
  const opened = open();
  await expect.poll(() => services).toHaveLength(1);
  relays[0]?.end('drain');
  const reader = await opened;
  await expect.poll(() => reader.rest).toBe('ended: drain');
  expect(ends).toEqual(['drain']);
  await expect.poll(() => services[0]?.destroyed).toBe(true);
});

test('a client that disconnects frees the connection to the service, before and after the stream has begun', async () => {
  const { services, open, ends } = await relayFrom(begin);
  const reader = await open();
  reader.close();
  await expect.poll(() => services[0]?.destroyed).toBe(true);
  expect(ends).toEqual(['client']);
});

test.each([410, 200])('a response that is no stream is relayed as an ordinary one, with status %i', async (status) => {
  const { open, relays } = await relayFrom((response) => void response.writeHead(status).end('other'));
  const reader = await open();
  await expect.poll(() => reader.rest).toBe('other');
  expect(reader.status).toBe(status);
  expect(relays[0]?.hasBegun).toBe(false);
});
