import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { UpdateKeyRequest } from '#proto/gen/guild/auth/v1/admin.ts';
import { amount, withinBound } from '../measure/bounds.ts';
import type { StreamReader } from '../network/event-stream.ts';
import { openStream } from '../network/event-stream.ts';
import { EventWriter } from '../system/event-writer.ts';
import { GUILD, type Network, startNetwork } from '../system/system.ts';

const WITHIN_MS = amount(1_000, 1_000);
const OFTEN = { interval: 10, timeout: 20_000 };

let network: Network;
let writer: EventWriter;
let key: { id: string; secret: string };
const readers: StreamReader[] = [];

beforeAll(async () => {
  network = await startNetwork({
    environment: {
      CLIENT_WRITE_TIMEOUT_MS: '2000',
      // No service reaches the log: only the writer's events get a seq, not those of the keys that the tests create.
      EVENTS_GRPC_ADDRESS: '127.0.0.1:1',
    },
  });
  writer = new EventWriter(GUILD, {
    address: () => network.address('events', 'grpc'),
    secret: network.secrets.internal,
  });
});
afterAll(async () => {
  for (const reader of readers) reader.close();
  await network.stop();
});
beforeEach(async () => {
  if (key) await network.admin().revokeKey({ keyId: key.id, actor: 'test' });
  key = await network.createKey();
});

async function open(query = '', headers: Record<string, string> = {}): Promise<StreamReader> {
  const all = { 'x-api-key': key.secret, 'x-guild-id': GUILD, ...headers };
  const reader = await openStream(`${network.api}/events/stream${query}`, all);
  readers.push(reader);
  return reader;
}

/** A stream that begins with the next event. */
const openNow = () => open(`?after=${writer.newestSeq}`);

const metric = async (name: string, at = 'gateway') => {
  const page = await (await fetch(`http://${network.address(at, 'admin')}/metrics`)).text();
  return Number(
    page
      .split('\n')
      .find((line) => line.startsWith(`${name} `))
      ?.split(' ')
      .at(-1),
  );
};

describe('a stream through the gateway', () => {
  test('has each event once, in order, as GET /events has it', async () => {
    const reader = await openNow();
    const first = writer.newestSeq;
    expect(reader.status).toBe(200);
    expect(reader.response.headers).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
      'x-ratelimit-limit': '300',
      'x-ratelimit-remaining': '299',
    });
    expect(reader.response.headers['x-request-id']).toBeDefined();
    for (let count = 0; count < 5; count++) await writer.append(40);
    await expect.poll(() => reader.seqs).toEqual(writer.seqs(first));
    const { json } = await network.call(`/events?after=${first}&limit=100`, {
      key: key.secret,
      headers: { 'x-guild-id': GUILD },
    });
    expect(reader.events.slice(0, 100).map(({ data }) => JSON.parse(data ?? ''))).toEqual(json.data.events);
  });

  test('continues after Last-Event-ID', async () => {
    await writer.append(10);
    const last = writer.newestSeq - 3;
    const reader = await open('?after=0', { 'last-event-id': String(last) });
    await expect.poll(() => reader.seqs).toEqual(writer.seqs(last));
  });

  test('counts as a waiting poll and not as a request in flight, until its client disconnects', async () => {
    const before = await metric('events_open_streams', 'events');
    const reader = await openNow();
    await expect.poll(() => metric('gateway_event_streams')).toBeGreaterThan(0);
    const [streams, polls] = [await metric('gateway_event_streams'), await metric('gateway_waiting_polls')];
    expect(polls).toBe(streams);
    expect(await metric('gateway_in_flight_requests')).toBe(0);
    await expect.poll(() => metric('events_open_streams', 'events')).toBe(before + 1);
    reader.close();
    await expect.poll(() => metric('gateway_event_streams')).toBe(streams - 1);
    await expect.poll(() => metric('gateway_waiting_polls')).toBe(polls - 1);
    await expect.poll(() => metric('events_open_streams', 'events')).toBe(before);
  });

  test('that cannot be opened gets an ordinary error', async () => {
    const errors = await Promise.all([
      open('?after=x'),
      open('', { 'x-api-key': 'no key' }),
      open('', { 'x-guild-id': '900000000000000009' }),
      open('?after=9007199254740991'),
      open('', { 'last-event-id': '-1' }),
    ]);
    await expect.poll(() => errors.every(({ rest }) => rest.endsWith('}'))).toBe(true);
    const found = errors.map(({ status, rest }) => `${status} ${JSON.parse(rest).details.code}`);
    expect(found).toEqual([
      '400 INVALID_REQUEST',
      '401 INVALID_API_KEY',
      '403 GUILD_MISMATCH',
      '410 EVENTS_GONE',
      '400 INVALID_REQUEST',
    ]);
    await expect.poll(() => metric('gateway_waiting_polls')).toBe(await metric('gateway_event_streams'));
  });

  test('has only headers for HEAD, and opens nothing', async () => {
    const before = await metric('events_open_streams', 'events');
    const headers = { 'x-api-key': key.secret, 'x-guild-id': GUILD };
    const response = await fetch(`${network.api}/events/stream`, { method: 'HEAD', headers });
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/event-stream; charset=utf-8']);
    expect(await metric('events_open_streams', 'events')).toBe(before);
    const post = await fetch(`${network.api}/events/stream`, { method: 'POST', headers });
    expect([post.status, post.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
  });
});

test('a client that never reads is disconnected, and delays no other stream', { timeout: 120_000 }, async () => {
  const streams = await metric('gateway_event_streams');
  const [quick, unread] = [await openNow(), await openNow()];
  const first = writer.newestSeq;
  unread.pause();
  const disconnects = () => metric('gateway_client_disconnects_total{reason="not_reading"}');
  // The operating system's buffers on the way take some megabytes.
  while ((await disconnects()) === 0 && writer.newestSeq - first < 6_000) {
    await writer.append(40, { text: 'x'.repeat(18_000) });
    await expect.poll(() => quick.seqs.length, { interval: 5 }).toBe(writer.newestSeq - first);
  }
  expect(await disconnects()).toBe(1);
  expect(quick).toMatchObject({ hasEnded: false, seqs: writer.seqs(first) });
  await expect.poll(() => metric('gateway_event_streams')).toBe(streams + 1);
  unread.close();
  quick.close();
});

describe('a stream ends within a second and without retry', () => {
  /** Opens a stream, makes a change that ends the stream at once or after `delayMs`, and returns how the stream ended. */
  async function endAfter(what: string, change: () => Promise<unknown>, delayMs = 0) {
    const reader = await openNow();
    const openedAt = performance.now();
    await writer.append(1);
    await expect.poll(() => reader.seqs, OFTEN).toHaveLength(1);
    await change();
    const changedAt = performance.now();
    await expect.poll(() => reader.hasEnded, OFTEN).toBe(true);
    const ms = performance.now() - (delayMs > 0 ? openedAt + delayMs : changedAt);
    withinBound(`a stream ends: ${what}`, ms, WITHIN_MS);
    const { isCut, rest, retry } = reader;
    return { isCut, rest, retry };
  }
  const PROPERLY = { isCut: false, rest: '', retry: undefined };

  const update = (change: Partial<UpdateKeyRequest>) =>
    network.admin().updateKey({ keyId: key.id, actor: 'test', ...change });

  test('when its key is revoked', async () => {
    expect(await endAfter('revoked', () => network.admin().revokeKey({ keyId: key.id, actor: 'test' }))).toEqual(
      PROPERLY,
    );
  });

  test('when its key expires', async () => {
    const expiresAt = Math.ceil(Date.now() / 1000) + 3;
    await update({ expiresAt });
    await network.call('/whoami', { key: key.secret });
    expect(await endAfter('expired', async () => undefined, expiresAt * 1000 - Date.now())).toEqual(PROPERLY);
  });

  test('when its secret was replaced without a grace period', async () => {
    expect(
      await endAfter('replaced', () => network.admin().rotateKey({ keyId: key.id, graceSeconds: 0, actor: 'test' })),
    ).toEqual(PROPERLY);
  });

  test('when the grace period of its secret ends', async () => {
    const reader = await openNow();
    const { key: rotated } = await network.admin().rotateKey({ keyId: key.id, graceSeconds: 3, actor: 'test' });
    expect(rotated?.id).toBe(key.id);
    const rotatedAt = performance.now();
    await expect.poll(() => reader.hasEnded, OFTEN).toBe(true);
    const ms = performance.now() - rotatedAt;
    expect(ms).toBeGreaterThan(1_900);
    withinBound('a stream ends: grace period', ms - 3_000, WITHIN_MS);
    expect(reader.retry).toBeUndefined();
  });

  test('when its key loses the scope', async () => {
    expect(await endAfter('scope', () => update({ scopes: { values: ['lookup:read'] } }))).toEqual(PROPERLY);
  });

  test('when its key may no longer read some of the types', async () => {
    expect(await endAfter('types', () => update({ scopes: { values: ['events:read', 'members:read'] } }))).toEqual(
      PROPERLY,
    );
  });

  test('when its address is no longer on the allowlist', async () => {
    expect(await endAfter('address', () => update({ ipAllowlist: { values: ['203.0.113.0/24'] } }))).toEqual(PROPERLY);
  });

  test('and stays open when its key changes otherwise', async () => {
    const reader = await openNow();
    await update({ name: 'another', ipAllowlist: { values: ['127.0.0.0/8'] } });
    await expect.poll(async () => (await network.call('/whoami', { key: key.secret })).status).toBe(200);
    await writer.append(3);
    await expect.poll(() => reader.seqs).toHaveLength(3);
    expect(reader.hasEnded).toBe(false);
  });
});

describe('a stream ends with retry, after a whole event', () => {
  test('when the events service drains, and another one continues', async () => {
    const reader = await openNow();
    await writer.append(20);
    await expect.poll(() => reader.seqs).toHaveLength(20);
    const ports = network.samePorts('events');
    await network.services.get('events')?.stop();
    await expect.poll(() => reader.hasEnded, OFTEN).toBe(true);
    expect(reader).toMatchObject({ isCut: false, rest: '' });
    expect(reader.retry).toBeGreaterThan(0);
    await network.startOne('events', ports);
    await expect.poll(async () => (await openNow()).status).toBe(200);
  });

  test('when the gateway drains', async () => {
    const streams = await Promise.all([openNow(), openNow(), openNow()]);
    await writer.append(20);
    await expect.poll(() => streams.map(({ seqs }) => seqs.length)).toEqual([20, 20, 20]);
    const ports = network.samePorts('gateway');
    const startedAt = performance.now();
    await network.services.get('gateway')?.stop();
    withinBound('a gateway with streams stops', performance.now() - startedAt, 5_000);
    for (const reader of streams) {
      await expect.poll(() => reader.hasEnded, OFTEN).toBe(true);
      expect(reader).toMatchObject({ isCut: false, rest: '' });
      expect(reader.retry).toBeGreaterThan(0);
    }
    await network.startOne('gateway', { ...ports, GATEWAY_PORT: ports['HTTP_PORT'] });
  });
});
