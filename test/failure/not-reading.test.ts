import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { API_PREFIX } from '#proto/rest/route.ts';
import { withinBound } from '../measure/bounds.ts';
import { scrapeSeries } from '../measure/exposition.ts';
import { listening } from '../network/listening.ts';
import { wire } from '../network/raw-http.ts';
import { type Front, startFront } from './bytes/front.ts';
import { newCaller } from './bytes/through.ts';
import { UnreadClient } from './unread-client.ts';

/** Shorter than in production, but long enough to inspect the gateway while a client does not read. */
const WRITE_TIMEOUT_MS = 4_000;
/** A response that the client does not read for longer than this must not count against the service. */
const SERVICE_TIMEOUT_MS = 1_000;

const SMALL = JSON.stringify({ status: 'success', code: 200, message: 'ok', data: 'x'.repeat(60_000) });
const LARGE_BYTES = 64 * 1024 * 1024;

let front: Front;
let service: { url: string; close: () => void };
const logLines: string[] = [];
const clients: UnreadClient[] = [];

beforeAll(async () => {
  service = await listening(createService());
  const environment = {
    // One slot: a client that held it would lock out everybody else.
    MAX_IN_FLIGHT: '1',
    CLIENT_WRITE_TIMEOUT_MS: String(WRITE_TIMEOUT_MS),
    SERVICE_TIMEOUT_MS: String(SERVICE_TIMEOUT_MS),
  };
  front = await startFront({ environment, upstream: service.url, logLines });
  // Documents are created when one is first requested, which takes longer than a client that fills its buffers waits.
  await (await fetch(`http://${front.address}/openapi.json`)).arrayBuffer();
});
afterAll(async () => {
  await front.stop();
  service.close();
});
afterEach(() => {
  for (const client of clients.splice(0)) client.destroy();
});

/** A service whose responses fill the client's buffers: some with one response, others with many. */
function createService(): Server {
  return createServer((request, response) => {
    request.resume().on('end', () => {
      response.setHeader('content-type', 'application/json');
      if (/\/game\/7|\/reverse/.test(request.url ?? '')) response.end(Buffer.alloc(LARGE_BYTES, 'x'));
      else response.end(SMALL);
    });
  });
}

/** The value of a metric, over all series with these labels. */
async function metric(name: string, labels: Record<string, string> = {}): Promise<number> {
  const series = await scrapeSeries(front.admin);
  const matching = series.filter(
    (each) => each.name === name && Object.entries(labels).every(([label, value]) => each.labels[label] === value),
  );
  return matching.reduce((total, { value }) => total + value, 0);
}

/** The status and body of a request of another client. */
async function served(): Promise<string> {
  const response = await fetch(`http://${front.address}${API_PREFIX}/whoami`, {
    headers: { 'x-api-key': newCaller().key },
  });
  const body = await response.text();
  return response.status === 200 ? '200' : `${response.status} ${body}`;
}

async function openClient(): Promise<UnreadClient> {
  const client = await UnreadClient.open(front.address, newCaller().from);
  clients.push(client);
  return client;
}

/** Each request has a key of another guild, so that no rate limit is reached. */
const status = () => {
  const { guild, key } = newCaller();
  const body = JSON.stringify({ guild_id: guild, chat_ids: [] });
  const head = `POST ${API_PREFIX}/lookup/status HTTP/1.1\nHost: x\nX-API-Key: ${key}\nContent-Type: application/json\n`;
  return wire(`${head}Content-Length: ${body.length}\n\n`) + body;
};
const large = () => status().replace('/lookup/status', '/reverse');
const lookup = (gameId: number) => {
  const { guild, key } = newCaller();
  return wire(`GET ${API_PREFIX}/lookup/game/${gameId} HTTP/1.1\nHost: x\nX-API-Key: ${key}\nX-Guild-ID: ${guild}\n\n`);
};
const longName = 'n'.repeat(2_000);
const { key } = newCaller();

/** Small rejections are left out: Linux buffers tens of megabytes of them before a response is stuck. */
const WRITTEN: [string, () => string][] = [
  ['a document', () => wire('GET /openapi.json HTTP/1.1\nHost: x\n\n')],
  [
    'a rejection',
    () => wire(`GET ${API_PREFIX}/whoami?${longName}=1&${longName}=2 HTTP/1.1\nHost: x\nX-API-Key: ${key}\n\n`),
  ],
  ['the response of a service to a GET', () => lookup(8)],
  ['the response of a service to a POST', status],
];

test.each(WRITTEN)('a client that does not read %s holds no slot and is disconnected', async (_what, request) => {
  const before = await metric('gateway_client_disconnects_total', { reason: 'not_reading' });
  const [one, other] = [await openClient(), await openClient()];
  await one.fill(request);
  await other.fill(request);
  const started = performance.now();
  expect(await metric('gateway_in_flight_requests')).toBe(0);
  expect(await served()).toBe('200');
  const closed = other.serverSide.destroyed ? undefined : once(other.serverSide, 'close');
  await expect.poll(() => one.serverSide.destroyed).toBe(true);
  await closed;
  withinBound('disconnecting a client that does not read', performance.now() - started, WRITE_TIMEOUT_MS * 1.2);
  expect(await metric('gateway_client_disconnects_total', { reason: 'not_reading' })).toBe(before + 2);
});

test.each([
  ['GET', () => lookup(7)],
  ['POST', large],
])('a client that reads only part of a large response to a %s is counted as disconnected', async (method, request) => {
  const before = await metric('http_requests_total', { method, code: '499' });
  const client = await openClient();
  await client.fill(request);
  await expect.poll(() => client.serverSide.destroyed).toBe(true);
  await expect.poll(() => metric('http_requests_total', { method, code: '499' })).toBe(before + 1);
  expect(await served()).toBe('200');
});

test('none of this counted against a service', async () => {
  expect(await metric('breaker_open')).toBe(0);
  expect(await metric('http_requests_total', { code: '504' })).toBe(0);
  expect(await metric('http_requests_total', { code: '503' })).toBe(0);
  const errors = logLines
    .map((line) => JSON.parse(line) as { level: number | string })
    .filter(({ level }) => Number(level) >= 50 || level === 'error');
  expect(errors).toEqual([]);
});
