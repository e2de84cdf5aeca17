import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { systemClock } from '#kit/clock.ts';
import { ApiError } from '#kit/errors.ts';
import { GrpcServer } from '#kit/grpc/server.ts';
import { Readiness } from '#kit/service/readiness.ts';
import { type RunningService, startService } from '#kit/service/service.ts';
import { createLog } from '#kit/telemetry/log.ts';
import { Metrics } from '#kit/telemetry/metrics.ts';
import { KeyAdminServiceService } from '#proto/gen/guild/auth/v1/admin.ts';
import { AuthServiceService } from '#proto/gen/guild/auth/v1/auth.ts';
import { type GetUsageResponse, UsageServiceService } from '#proto/gen/guild/common/v1/usage.ts';
import { connect } from '#test/network/grpc.ts';
import { createTestDatabase, databaseRows, type TestDatabase } from '#test/postgres/database.ts';
import { allowedCallers, TEST_ADMIN_SECRETS, TEST_SECRETS } from '#test/system/keys.ts';
import { callService, testEnvironment } from '#test/system/signed-calls.ts';
import { MAX_READS } from './domain/usage.ts';
import { authService } from './service.ts';

const GUILD = '900000000000000001';
const NAMES = ['lookup', 'bindings', 'members', 'activity', 'moderation', 'events'] as const;
type Name = (typeof NAMES)[number];
type Behaviour = (guildId: string) => Promise<GetUsageResponse>;

let database: TestDatabase;
let auth: RunningService;
let verifier: ReturnType<typeof connect<typeof AuthServiceService>>;
let admin: ReturnType<typeof connect<typeof KeyAdminServiceService>>;
const servers = new Map<Name, GrpcServer>();
/** What each fake service returns; by default nothing. */
const behaviours = new Map<Name, Behaviour>();
let release: () => void = () => undefined;

beforeAll(async () => {
  database = await createTestDatabase();
  const environment: Record<string, string> = { ...testEnvironment(database.url) };
  const log = await createLog({ service: 'test', level: 'silent' });
  for (const name of NAMES) {
    const parts = { clock: systemClock, metrics: new Metrics(), log, readiness: new Readiness() };
    const server = new GrpcServer({ service: name, host: '127.0.0.1', port: 0, reflection: false, ...parts });
    const getUsage = ({ guildId }: { guildId: string }) =>
      behaviours.get(name)?.(guildId) ?? Promise.resolve({ rows: [], quotas: [] });
    server.add(UsageServiceService, { getUsage }, allowedCallers(TEST_SECRETS, 'auth'));
    await server.start();
    servers.set(name, server);
    environment[`${name.toUpperCase()}_GRPC_ADDRESS`] = server.address;
    environment[`${name.toUpperCase()}_HTTP_URL`] = 'http://127.0.0.1:1';
  }
  auth = await startService(authService, environment);
  const address = auth.addresses.grpc ?? '';
  verifier = connect(AuthServiceService, 'auth', address);
  admin = connect(KeyAdminServiceService, 'auth', address, systemClock, TEST_ADMIN_SECRETS);
});
afterAll(async () => {
  verifier.close();
  admin.close();
  await auth.stop();
  for (const server of servers.values()) await server.stop();
  await database.drop();
});
beforeEach(() => behaviours.clear());
afterEach(() => release());

const get = (guildId = GUILD) =>
  callService(
    { address: auth.addresses.http ?? '', audience: 'auth' },
    { guildId },
    { method: 'GET', path: `/guilds/${guildId}/usage` },
  );
const returns =
  (rows: Record<string, number>, quotas: GetUsageResponse['quotas'] = []): Behaviour =>
  () =>
    Promise.resolve({ rows: Object.entries(rows).map(([kind, count]) => ({ kind, rows: count })), quotas });

/** Makes a service wait until the test ends. Returns a function that returns how often it was called. */
function hang(name: Name): () => number {
  let calls = 0;
  const { promise, resolve } = Promise.withResolvers<GetUsageResponse>();
  release = () => resolve({ rows: [], quotas: [] });
  behaviours.set(name, () => {
    calls++;
    return promise;
  });
  return () => calls;
}

async function createKey(guildId: string): Promise<void> {
  const request = { guildId, name: '', legacy: false, scopes: ['lookup:read'], ipAllowlist: [], actor: 'ada' };
  await admin.client.createKey(request);
}

describe('the usage of a guild', () => {
  test('is the sum over all services, with the requests that gateways have reported', async () => {
    await createKey(GUILD);
    behaviours.set('lookup', returns({ links: 7, stored_responses: 1 }));
    behaviours.set('members', returns({ stored_responses: 2, of_the_future: 4 }));
    const servers = { quota: 'live_servers', limit: 2_000, used: 12 };
    behaviours.set('activity', returns({ staff_actions: 3_000_000_000 }, [servers]));
    behaviours.set('events', returns({ events: 5 }, [{ quota: 'webhooks', limit: 25, used: 2 }]));
    const minute = Math.floor(Date.now() / 60_000) * 60;
    const count = { guildId: GUILD, category: 'sync_write', minute, allowed: 4, rejected: 1 };
    const lookups = { ...count, category: 'lookup', allowed: 9, rejected: 0 };
    const ofNewerGateway = { ...count, category: 'of_the_future' };
    await verifier.client.reportRequests({ reporter: 'one', sequence: 1, counts: [count, lookups, ofNewerGateway] });
    const { status, body } = await get();
    expect({ status, message: body.message }).toEqual({ status: 200, message: 'Usage read' });
    const { requests, live_servers: live, rows, quotas } = body.data;
    const categories = [
      { category: 'lookup', allowed: 9, rejected: 0 },
      { category: 'sync_write', allowed: 4, rejected: 1 },
    ];
    expect(requests.last_hour).toEqual(categories);
    expect(requests.days).toEqual([{ day: Math.floor(minute / 86_400) * 86_400, categories }]);
    expect(live).toBe(12);
    expect(quotas).toEqual([servers, { quota: 'webhooks', limit: 25, used: 2 }]);
    const byKind = Object.fromEntries(rows.kinds.map((each: { kind: string; rows: number }) => [each.kind, each.rows]));
    // Its own rows: a key, an audit entry, three counts by minute and by day, and the secret of the key.
    expect(byKind).toMatchObject({ links: 7, stored_responses: 3, staff_actions: 3_000_000_000, bindings: 0 });
    expect(byKind).toMatchObject({ keys: 1, audit_entries: 1, request_counts: 6, other: 5 });
    expect(rows.total).toBe(Object.values(byKind).reduce((a, b) => Number(a) + Number(b), 0));
  });

  test('of a guild without anything is empty', async () => {
    const { data } = (await get('900000000000000009')).body;
    expect(data.requests).toEqual({ last_hour: [], days: [] });
    expect(data).toMatchObject({ live_servers: 0, rows: { total: 0 }, quotas: [] });
  });
});

describe('a service', () => {
  test.each([
    ['that is not ready to say passes on its time', new ApiError('UNAVAILABLE', { retryAfter: 5 }), 503, '5'],
    ['with a fault makes it a 500', new ApiError('INTERNAL'), 500, null],
  ])('%s', async (_title, error, status, retryAfter) => {
    behaviours.set('bindings', () => Promise.reject(error));
    const response = await get();
    expect({ status: response.status, retryAfter: response.headers.get('retry-after') }).toEqual({
      status,
      retryAfter,
    });
  });

  test('is called once for concurrent requests about one guild', async () => {
    let calls = 0;
    behaviours.set('activity', async () => {
      calls++;
      await new Promise((resolve) => setImmediate(resolve));
      return { rows: [], quotas: [] };
    });
    const responses = await Promise.all(Array.from({ length: 20 }, () => get('900000000000000007')));
    expect(responses.map(({ status }) => status)).toEqual(Array(20).fill(200));
    expect(calls).toBeLessThan(20);
  });
});

describe('the HTTP port', () => {
  test('accepts only principals that the gateway has signed for auth', async () => {
    const address = auth.addresses.http ?? '';
    const path = `/guilds/${GUILD}/usage`;
    const request = { method: 'GET', path };
    for (const response of [
      await fetch(`http://${address}/api/v1${path}`),
      await callService({ address, audience: 'lookup' }, { guildId: GUILD }, request),
      await callService({ address, audience: 'auth', secrets: ['x'.repeat(40)] }, { guildId: GUILD }, request),
    ]) {
      expect(response.status).toBe(401);
    }
    // The principal decides about which guild it is, not the path.
    const other = await callService({ address, audience: 'auth' }, { guildId: '900000000000000002' }, request);
    expect(other).toMatchObject({ status: 200, body: { data: { requests: { days: [] } } } });
  });
});

describe('a report of requests', () => {
  test.each([
    ['without a reporter', { reporter: '' }],
    ['with a long reporter', { reporter: 'x'.repeat(65) }],
    ['without a number', { sequence: 0 }],
    ['about something else than a guild', { guildId: '1' }],
    ['with another category', { category: 'Lookup; DROP' }],
    ['of half a minute', { minute: 90 }],
    ['with negative counts', { allowed: -1 }],
  ])('%s is rejected', async (_title, changes: Record<string, string | number>) => {
    const count = { guildId: GUILD, category: 'lookup', minute: 60, allowed: 1, rejected: 0 };
    const isCount = Object.keys(changes).some((name) => Object.hasOwn(count, name));
    const report = { reporter: 'bad', sequence: 1, counts: [isCount ? { ...count, ...changes } : count] };
    const sent = verifier.client.reportRequests(isCount ? report : { ...report, ...changes });
    await expect(sent).rejects.toMatchObject({ code: 'INVALID_REQUEST' });
    const text = `SELECT FROM auth.request_reporters WHERE reporter NOT IN ('one')`;
    expect(await databaseRows(database.url, text)).toEqual([]);
  });

  test('with too many counts is rejected', async () => {
    const count = { guildId: GUILD, category: 'lookup', minute: 60, allowed: 1, rejected: 0 };
    const report = { reporter: 'bad', sequence: 1, counts: Array.from({ length: 10_001 }, () => count) };
    await expect(verifier.client.reportRequests(report)).rejects.toMatchObject({ code: 'INVALID_REQUEST' });
  });
});

// The last test, because it opens a circuit breaker.
describe('a service', () => {
  test('that hangs makes it a 504, without delaying verifications, and further guilds get 503 at once', async () => {
    const calls = hang('members');
    const guilds = Array.from({ length: MAX_READS + 3 }, (_, n) => String(910000000000000000n + BigInt(n)));
    const slow = guilds.slice(0, MAX_READS).map((guildId) => get(guildId));
    await vi.waitUntil(() => calls() === MAX_READS, { timeout: 2_500, interval: 5 });
    const rejected = await Promise.all(guilds.slice(MAX_READS).map((guildId) => get(guildId)));
    for (const { status, headers } of rejected) {
      expect({ status, retryAfter: headers.get('retry-after') }).toEqual({ status: 503, retryAfter: '1' });
    }
    // The calls to the service that hangs last 3 s.
    for (let call = 0; call < 5; call++) {
      const begun = performance.now();
      await verifier.client.verify({ keys: [{ guildId: GUILD, hash: Buffer.alloc(32, call) }] });
      expect(performance.now() - begun).toBeLessThan(2_500);
    }
    const statuses = (await Promise.all(slow)).map(({ status }) => status);
    // The breaker rejects the last ones once most calls have failed.
    expect(statuses.filter((status) => status === 504).length).toBeGreaterThan(0);
    expect(statuses.filter((status) => status !== 504 && status !== 503)).toEqual([]);
  });
});
