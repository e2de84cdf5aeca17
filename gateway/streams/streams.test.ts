import { createServer, type ServerResponse } from 'node:http';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ManualClock } from '#kit/clock.ts';
import { ApiError } from '#kit/errors.ts';
import type { ApiKey } from '#kit/security/api-key.ts';
import { Metrics } from '#kit/telemetry/metrics.ts';
import type { KeyGrant } from '#proto/gen/guild/auth/v1/auth.ts';
import { openStream } from '#test/network/event-stream.ts';
import { listening } from '#test/network/listening.ts';
import { newKey, silentLog } from '../keys/fixtures/auth-peer.ts';
import { Streams } from './streams.ts';

const clock = new ManualClock();
const key = newKey();
/** What the cache and auth return for the API key. */
let cached: KeyGrant | undefined;
let find: () => Promise<KeyGrant | undefined>;
let streams: Streams;
const closers: (() => unknown)[] = [];

beforeEach(async () => {
  cached = grantOf({});
  find = async () => cached;
  streams = new Streams({
    keys: { current: () => cached, find: () => find() },
    clock,
    metrics: new Metrics(),
    log: silentLog,
  });
  await streams.start();
});
afterEach(async () => {
  await streams.stop();
  for (const close of closers.splice(0).toReversed()) await close();
});

const grantOf = (changes: Partial<KeyGrant>): KeyGrant => ({
  keyId: 'key',
  guildId: key.guildId,
  prefix: key.prefix,
  legacy: false,
  scopes: ['events:read'],
  ipAllowlist: [],
  rateLimit: 0,
  expiresAt: 0,
  validUntil: 0,
  version: 1,
  ...changes,
});

/** Opens a stream with the grant of the API key that was valid when its request was authenticated. */
async function open(grant = grantOf({}), of: ApiKey = key) {
  const served = Promise.withResolvers<ServerResponse>();
  const front = await listening(createServer((_request, response) => served.resolve(response)));
  closers.push(front.close);
  const opened = openStream(front.url);
  const response = await served.promise;
  let ends = 0;
  const relay = streams.open({ response, key: of, grant, check: () => undefined, ended: () => ends++ });
  response.writeHead(200);
  relay.begin(() => undefined);
  return { reader: await opened, ends: () => ends };
}

test('a key that changed between its authentication and the opening of a stream is verified again', async () => {
  cached = undefined;
  const { reader } = await open();
  await expect.poll(() => reader.hasEnded).toBe(true);
  expect(reader.retry).toBeUndefined();
  expect(streams.size).toBe(0);
});

test('while no key changes arrive, a key is verified when its cached grant is no longer current', async () => {
  const { reader, ends } = await open();
  cached = undefined;
  find = async () => grantOf({});
  await expect.poll(() => streams.size).toBe(1);
  find = async () => undefined;
  await expect.poll(() => reader.hasEnded, { timeout: 3_000 }).toBe(true);
  expect(reader.retry).toBeUndefined();
  expect(ends()).toBe(1);
});

test('a key that cannot be verified keeps its streams for 3 s, and then they end with retry', async () => {
  const { reader } = await open();
  cached = undefined;
  let attempts = 0;
  find = async () => {
    attempts++;
    throw new ApiError('UNAVAILABLE');
  };
  await expect.poll(() => attempts, { timeout: 3_000 }).toBeGreaterThan(0);
  expect(reader.hasEnded).toBe(false);
  clock.advance(3_000);
  await expect.poll(() => reader.hasEnded, { timeout: 3_000 }).toBe(true);
  expect(reader.retry).toBeGreaterThan(0);
});

test('a change of one key ends the streams of no other', async () => {
  const other = newKey();
  const [one, two] = [await open(), await open(grantOf({}), other)];
  find = async () => undefined;
  streams.handleChange({ keyId: 'key', guildId: key.guildId, version: 2, hashes: [key.hash], changedAtMs: 0 });
  await expect.poll(() => one.reader.hasEnded).toBe(true);
  expect(two.reader.hasEnded).toBe(false);
  expect(streams.size).toBe(1);
});

test('a stream that opens while the gateway drains is ended at once', async () => {
  await streams.drain();
  const { ends } = await open();
  expect(ends()).toBe(1);
  expect(streams.size).toBe(0);
});
