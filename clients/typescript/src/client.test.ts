import { inspect } from 'node:util';
import { afterEach, describe, expect, test } from 'vitest';
import {
  clientOf,
  fail,
  GUILD,
  hang,
  KEY,
  manualRuntime,
  reset,
  resetInBody,
  type ScriptedServer,
  type Step,
  startScriptedServer,
  succeed,
} from '../fixture.ts';
import { GuildDataError, InvalidResponseError, NetworkError } from './errors.ts';
import type { ResponseInfo } from './operation.ts';
import { ConflictError, isKnownError, NotFoundError, RateLimitedError, UnavailableError } from './operations-errors.ts';

let server: ScriptedServer;
afterEach(() => server.stop());

const start = async (...steps: Step[]) => (server = await startScriptedServer(steps));
const rejectionOf = (call: Promise<unknown>): Promise<Error> =>
  call.then(
    () => expect.unreachable('the call succeeded'),
    (error: Error) => error,
  );
const ban = { game_id: 7001, reason: 'Spams the chat', duration: '1h' } as const;

describe('a request', () => {
  test('has the key and the guild where the operation names it, and returns data', async () => {
    await start(succeed({ found: true }));
    const guild = clientOf(server);
    expect(await guild.getMember({ chatId: '920000000000000001' })).toEqual({ found: true });
    await guild.getLinkByGameId({ gameId: 7 });
    await guild.reverseLookup({ game_id: 7 });
    await guild.listMembers({ limit: 2, verified: 'true', cursor: undefined });
    const sent = server.received.map(({ method, url, headers, body }) => [method, url, headers['x-guild-id'], body]);
    expect(sent).toEqual([
      ['GET', `/api/v1/guilds/${GUILD}/members/920000000000000001`, undefined, ''],
      ['GET', '/api/v1/lookup/game/7', GUILD, ''],
      ['POST', '/api/v1/reverse', undefined, `{"guild_id":"${GUILD}","game_id":7}`],
      ['GET', `/api/v1/guilds/${GUILD}/members?limit=2&verified=true`, undefined, ''],
    ]);
    expect(server.received.map(({ headers }) => headers['x-api-key'])).toEqual(Array(4).fill(KEY));
  });

  test('of a write has an idempotency key of its own, or the given one; a read has none', async () => {
    await start(succeed());
    const guild = clientOf(server);
    await guild.banPlayer(ban);
    await guild.banPlayer(ban);
    await guild.banPlayer(ban, { idempotencyKey: 'mine' });
    await guild.listBindings({ idempotencyKey: 'mine' });
    const keys = server.received.map(({ headers }) => headers['idempotency-key']);
    expect(keys[0]).toMatch(/^[0-9a-f-]{36}$/);
    expect(keys[1]).not.toBe(keys[0]);
    expect(keys.slice(2)).toEqual(['mine', undefined]);
  });

  test('is not sent without an argument of the path, or with one that would change the path', async () => {
    await start(succeed());
    const guild = clientOf(server);
    for (const serverId of ['..', '.', '']) {
      await expect(guild.pollCommands({ serverId })).rejects.toThrow('pollCommands needs the argument serverId');
    }
    await guild.getServer({ serverId: 'a/../b?c' });
    expect(server.received.map(({ url }) => url)).toEqual([`/api/v1/guilds/${GUILD}/servers/a%2F..%2Fb%3Fc`]);
  });
});

describe('an error', () => {
  test('has a class for its code, with the details, the request ID and Retry-After', async () => {
    await start(fail(404, 'NOT_FOUND'), fail(409, 'CONFLICT', {}, { conflict: { chat_id: '1', game_id: 2 } }));
    const guild = clientOf(server);
    const missing = await rejectionOf(guild.getMember({ chatId: '920000000000000001' }));
    expect(missing).toBeInstanceOf(NotFoundError);
    expect(missing).toMatchObject({ code: 'NOT_FOUND', status: 404, requestId: 'r-1', operation: 'getMember' });
    expect(missing.message).toBe('getMember: the message of NOT_FOUND (404)');
    const conflict = await rejectionOf(guild.linkAccount({ chat_id: '1', game_id: 2 }));
    expect(conflict).toBeInstanceOf(ConflictError);
    expect(isKnownError(conflict) && conflict.code === 'CONFLICT' && conflict.details.conflict?.game_id).toBe(2);
    expect(server.received).toHaveLength(2);
  });

  test('of an unknown code is an ApiError, and a response of a proxy an InvalidResponseError', async () => {
    await start(fail(418, 'TEAPOT', {}, { hot: true }), (response) => response.writeHead(403).end('<html>'));
    const guild = clientOf(server);
    expect(await rejectionOf(guild.whoami())).toMatchObject({ code: 'TEAPOT', details: { hot: true } });
    const foreign = await rejectionOf(guild.whoami());
    expect(foreign).toBeInstanceOf(InvalidResponseError);
    expect(foreign).toMatchObject({ status: 403, code: 'INVALID_RESPONSE', isRetryable: false });
  });

  test('never has the key, however it is printed, nor has the client', async () => {
    await start(fail(401, 'INVALID_API_KEY'), reset);
    const failing = () => Promise.reject(new Error(`bad header ${KEY}`, { cause: new TypeError(KEY) }));
    const quoting = clientOf(server, { fetch: failing, maxAttempts: 1 });
    const errors = [
      await rejectionOf(clientOf(server).whoami()),
      await rejectionOf(clientOf(server, { maxAttempts: 1 }).whoami()),
      await rejectionOf(quoting.whoami()),
    ];
    expect(errors[2]?.message).toContain('bad header [key]: [key]');
    for (const thing of [...errors, quoting]) {
      expect(inspect(thing, { depth: 9, showHidden: true }) + JSON.stringify(thing)).not.toContain(KEY);
    }
    const withBreak = () => clientOf(server, { key: `${KEY}\n` });
    expect(withBreak).toThrow(/^key is not an API key$/);
  });

  test('follows no redirect, which could send the key elsewhere', async () => {
    await start((response) => response.writeHead(307, { location: '/api/v1/elsewhere' }).end());
    expect(await rejectionOf(clientOf(server).whoami())).toMatchObject({ status: 307, code: 'INVALID_RESPONSE' });
    expect(server.received).toHaveLength(1);
  });
});

describe('retries', () => {
  test.each([
    ['a reset before the response', reset],
    ['a reset in the response', resetInBody],
    ['408', fail(408, 'REQUEST_TIMEOUT')],
    ['500', fail(500, 'INTERNAL')],
    ['502', fail(502, 'PLATFORM_ERROR')],
    ['503 of a proxy', (response) => response.writeHead(503).end('busy')],
    ['504', fail(504, 'TIMEOUT')],
  ] satisfies [string, Step][])('after %s a write is repeated with the same idempotency key', async (_, fault) => {
    await start(fault, fault, succeed({ id: 1 }));
    const runtime = manualRuntime();
    expect(await clientOf(server, { runtime }).banPlayer(ban)).toEqual({ id: 1 });
    const keys = new Set(server.received.map(({ headers }) => headers['idempotency-key']));
    expect([server.received.length, keys.size]).toEqual([3, 1]);
    expect(new Set(server.received.map(({ body }) => body)).size).toBe(1);
    // The random number is 0.5, so that the waits are half of the maxima, 0.5 s and 1 s.
    expect(runtime.waits).toEqual([250, 500]);
  });

  test.each([
    [429, 'RATE_LIMITED', { 'retry-after': '17' }, 17_500],
    [503, 'UNAVAILABLE', { 'retry-after': '1' }, 1_500],
    [409, 'CONFLICT', { 'retry-after': '1' }, 1_500],
    [409, 'ANOTHER_CODE', { 'retry-after': '1' }, 1_500],
  ] as const)(
    'after %i %s the call waits for Retry-After, and up to a second more',
    async (status, code, headers, wait) => {
      await start(fail(status, code, headers), succeed());
      const runtime = manualRuntime();
      await clientOf(server, { runtime }).banPlayer(ban);
      expect(runtime.waits).toEqual([wait]);
    },
  );

  test.each([
    [400, 'INVALID_REQUEST'],
    [401, 'INVALID_API_KEY'],
    [403, 'MISSING_SCOPE'],
    [404, 'NOT_FOUND'],
    [409, 'CONFLICT'],
    [410, 'EVENTS_GONE'],
    [413, 'PAYLOAD_TOO_LARGE'],
    [422, 'NOT_APPLICABLE'],
  ])('%i %s is not repeated', async (status, code) => {
    await start(fail(status, code));
    expect(await rejectionOf(clientOf(server).banPlayer(ban))).toMatchObject({ status, code });
    expect(server.received).toHaveLength(1);
  });

  test('end after the maximum number of attempts, with the last error', async () => {
    await start(fail(503, 'UNAVAILABLE', { 'retry-after': '1' }));
    const error = await rejectionOf(clientOf(server, { runtime: manualRuntime() }).whoami());
    expect(error).toBeInstanceOf(UnavailableError);
    expect(error).toMatchObject({ retryAfter: 1, isRetryable: true });
    expect(server.received).toHaveLength(5);
    await rejectionOf(clientOf(server, { runtime: manualRuntime() }).whoami({ maxAttempts: 1 }));
    expect(server.received).toHaveLength(6);
  });

  test('end at once if Retry-After exceeds the total time', async () => {
    await start(fail(429, 'RATE_LIMITED', { 'retry-after': '30' }));
    const runtime = manualRuntime();
    const error = await rejectionOf(clientOf(server, { runtime, totalTimeoutMs: 20_000 }).whoami());
    expect(error).toBeInstanceOf(RateLimitedError);
    expect([server.received.length, runtime.waits]).toEqual([1, []]);
  });

  test('are reported to onResponse with every response, which has headers and body', async () => {
    await start(
      fail(503, 'UNAVAILABLE', { 'retry-after': '1' }),
      succeed({ guild_id: GUILD }, { 'x-request-id': 'r-2' }),
    );
    const responses: ResponseInfo[] = [];
    const onResponse = (response: ResponseInfo) => void responses.push(response);
    await clientOf(server, { runtime: manualRuntime(), onResponse }).whoami();
    expect(responses).toMatchObject([
      { operation: 'whoami', attempt: 1, status: 503, body: { details: { code: 'UNAVAILABLE' } } },
      { operation: 'whoami', attempt: 2, status: 200, body: { data: { guild_id: GUILD } } },
    ]);
    expect(responses[1]?.headers.get('x-request-id')).toBe('r-2');
  });
});

describe('time and cancellation', () => {
  test('an attempt without a response is given up and repeated', async () => {
    await start(hang, succeed({ ok: 1 }));
    expect(await clientOf(server, { timeoutMs: 100 }).whoami()).toEqual({ ok: 1 });
    expect(server.received).toHaveLength(2);
  });

  test('the total time ends a call whose attempt would last longer', async () => {
    await start(hang);
    const call = clientOf(server, { timeoutMs: 60_000, totalTimeoutMs: 200 }).whoami();
    expect(await rejectionOf(call)).toMatchObject({ code: 'CLIENT_TIMEOUT', isRetryable: true });
  });

  test('a signal ends a call, before it, during it and between its attempts', async () => {
    await start(hang, fail(503, 'UNAVAILABLE', { 'retry-after': '30' }));
    const guild = clientOf(server);
    const reason = new Error('no longer needed');
    await expect(guild.whoami({ signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    expect(server.received).toHaveLength(0);
    for (const count of [1, 2]) {
      const controller = new AbortController();
      const call = guild.whoami({
        signal: controller.signal,
        // Aborts during the wait that follows the response.
        onResponse: () => setTimeout(() => controller.abort(reason), 20),
      });
      if (count === 1) setTimeout(() => controller.abort(reason), 100);
      await expect(call).rejects.toBe(reason);
      expect(server.received).toHaveLength(count);
    }
  });

  test('a gateway that cannot be reached is a NetworkError that says why', async () => {
    await start(succeed());
    const { baseUrl } = server;
    await server.stop();
    const error = await rejectionOf(clientOf(server, { runtime: manualRuntime() }).whoami());
    expect(error).toBeInstanceOf(NetworkError);
    expect(error).toBeInstanceOf(GuildDataError);
    expect(error.message).toContain(`whoami: no response from ${baseUrl}: fetch failed`);
    expect(error.message).toContain('ECONNREFUSED');
  });

  test('an address with the prefix of the paths reaches them too', async () => {
    await start(succeed());
    await clientOf(server, { baseUrl: `${server.baseUrl}/api/v1/` }).whoami();
    expect(server.received.map(({ url }) => url)).toEqual(['/api/v1/whoami']);
  });
});
