import { describe, expect, test } from 'vitest';
import type { HttpRequest } from './engine/http.ts';
import { failure, type Respond, type Result, startPlace, success } from './fixture.ts';

const BAN = 'return guild.api.banPlayer({ game_id = 1, reason = "x" })';

/** Fails so many times, then succeeds. */
function failing(times: number, response: ReturnType<typeof failure>): { respond: Respond; requests: HttpRequest[] } {
  const requests: HttpRequest[] = [];
  const respond: Respond = (request, index) => {
    requests.push(request);
    return index < times ? response : success({ done: true });
  };
  return { respond, requests };
}

describe('what is repeated', () => {
  test.each([
    [408, 'REQUEST_TIMEOUT'],
    [429, 'RATE_LIMITED'],
    [500, 'INTERNAL'],
    [502, 'PLATFORM_ERROR'],
    [503, 'UNAVAILABLE'],
    [504, 'TIMEOUT'],
  ])('%i is repeated with the same idempotency key', async (status, code) => {
    const { respond, requests } = failing(2, failure(status, code));
    const place = await startPlace({ respond });
    expect(await place.run(BAN)).toMatchObject({ ok: true, data: { done: true } });
    expect(requests).toHaveLength(3);
    expect(new Set(requests.map(({ headers }) => headers['Idempotency-Key'])).size).toBe(1);
    expect(new Set(requests.map(({ body }) => String(body))).size).toBe(1);
  });

  test.each([
    [400, 'INVALID_REQUEST'],
    [401, 'INVALID_API_KEY'],
    [403, 'MISSING_SCOPE'],
    [404, 'NOT_FOUND'],
    [409, 'CONFLICT'],
    [410, 'EVENTS_GONE'],
    [413, 'PAYLOAD_TOO_LARGE'],
    [422, 'NOT_APPLICABLE'],
  ])('%i is not repeated', async (status, code) => {
    const { respond, requests } = failing(9, failure(status, code));
    const place = await startPlace({ respond });
    expect(await place.run(BAN)).toMatchObject({ ok: false, status, code });
    expect(requests).toHaveLength(1);
  });

  test('409 with Retry-After is repeated: the first request with the same idempotency key is still running', async () => {
    const { respond, requests } = failing(1, failure(409, 'CONFLICT', { 'retry-after': '1' }));
    const place = await startPlace({ respond });
    expect(await place.run(BAN)).toMatchObject({ ok: true });
    expect(requests).toHaveLength(2);
  });

  test('the page of a proxy that responds in place of the service is repeated if its status is temporary', async () => {
    const { respond, requests } = failing(1, { status: 502, body: '<html>Bad gateway</html>' });
    const place = await startPlace({ respond });
    expect(await place.run(BAN)).toMatchObject({ ok: true });
    expect(requests).toHaveLength(2);
  });

  test('a failure of the network is repeated', async () => {
    const place = await startPlace();
    let failures = 3;
    place.engine.network.fault = () => (failures-- > 0 ? { kind: 'reset-after-send' } : undefined);
    expect(await place.run(BAN)).toMatchObject({ ok: true });
    expect(place.engine.requests).toHaveLength(4);
    expect(new Set(place.engine.requests.map(({ headers }) => headers['Idempotency-Key'])).size).toBe(1);
  });

  test('a request without a response is given up after its time, and repeated', async () => {
    const place = await startPlace();
    let isFirst = true;
    place.engine.network.fault = () => {
      const fault = isFirst ? ({ kind: 'silent' } as const) : undefined;
      isFirst = false;
      return fault;
    };
    expect(await place.run(BAN)).toMatchObject({ ok: true });
    expect(place.times[1]).toBeGreaterThanOrEqual(10);
    expect(place.times[1]).toBeLessThanOrEqual(10.6);
  });

  test('options turn repetition off, or set the number of requests', async () => {
    const { respond, requests } = failing(9, failure(503, 'UNAVAILABLE'));
    const place = await startPlace({ respond });
    await place.run('return guild.api.whoami(nil, { attempts = 1 })');
    expect(requests).toHaveLength(1);
    await place.run('return guild.api.whoami(nil, { attempts = 3 })');
    expect(requests).toHaveLength(4);
  });
});

describe('when it is repeated', () => {
  test('the pauses are random, below limits that double, and five requests are the end', async () => {
    const place = await startPlace({ respond: () => failure(503, 'UNAVAILABLE') });
    const calls = 6;
    const results = await place.run<Result[]>(`
      local results = {}
      for call = 1, ${calls} do
        results[call] = guild.api.banPlayer({ game_id = 1, reason = "x" })
      end
      return results`);
    expect(results.map(({ status }) => status)).toEqual(Array.from({ length: calls }, () => 503));
    expect(place.times).toHaveLength(5 * calls);
    const gaps = Array.from({ length: calls }, (_, call) => {
      const times = place.times.slice(5 * call, 5 * call + 5);
      return times.slice(1).map((time, index) => time - (times[index] ?? 0));
    });
    for (const [index, longest] of [0.5, 1, 2, 4].entries()) {
      const pauses = gaps.map((each) => each[index] ?? -1);
      expect(Math.min(...pauses)).toBeGreaterThanOrEqual(0);
      // The engine resumes a thread at the next of its steps.
      expect(Math.max(...pauses)).toBeLessThanOrEqual(longest + 0.1);
      expect(new Set(pauses).size).toBeGreaterThan(1);
    }
  });

  test('Retry-After is honoured', async () => {
    const { respond } = failing(1, failure(503, 'UNAVAILABLE', { 'retry-after': '7' }));
    const place = await startPlace({ respond });
    expect(await place.run(BAN)).toMatchObject({ ok: true });
    expect(place.times[1]).toBeGreaterThanOrEqual(7);
    expect(place.times[1]).toBeLessThanOrEqual(8.1);
  });

  test('a Retry-After beyond the time of the call is returned at once', async () => {
    const { respond, requests } = failing(9, failure(503, 'UNAVAILABLE', { 'retry-after': '90' }));
    const place = await startPlace({ respond });
    const result = await place.run<{ seconds: number; result: Result }>(`
      local begun = os.clock()
      local result = guild.api.banPlayer({ game_id = 1, reason = "x" })
      return { seconds = os.clock() - begun, result = result }`);
    expect(result.seconds).toBeLessThan(1);
    expect(result.result).toMatchObject({ ok: false, status: 503, retry_after: 90 });
    expect(requests).toHaveLength(1);
  });

  test('a call takes no longer than its time, whatever happens', async () => {
    const place = await startPlace();
    place.engine.network.fault = () => ({ kind: 'silent' });
    const result = await place.run<{ seconds: number; result: Result }>(`
      local begun = os.clock()
      local result = guild.api.banPlayer({ game_id = 1, reason = "x" }, { timeout = 25, attempts = 10 })
      return { seconds = os.clock() - begun, result = result }`);
    expect(result.result).toMatchObject({ ok: false, status: 0, code: 'TIMEOUT' });
    expect(result.seconds).toBeGreaterThan(20);
    expect(result.seconds).toBeLessThanOrEqual(25.1);
  });

  test('a poll may wait for as long as it says, other requests may not', async () => {
    const place = await startPlace();
    place.engine.network.latency = 12_000;
    expect(await place.run('return guild.api.listEvents({ wait = 25 }, { attempts = 1 })')).toMatchObject({ ok: true });
    expect(await place.run('return guild.api.listEvents({}, { attempts = 1 })')).toMatchObject({ code: 'TIMEOUT' });
  });
});

test.each(['nan', 'inf', '-5', '1.5', '0x10', 'Wed, 21 Oct 2026 07:28:00 GMT', '9'.repeat(20)])(
  'a Retry-After of %s is no whole number of seconds, and does not count',
  async (text) => {
    const place = await startPlace({
      respond: failing(1, failure(503, 'UNAVAILABLE', { 'retry-after': text })).respond,
    });
    expect(await place.run(BAN)).toMatchObject({ ok: true });
    expect(place.times[1]).toBeLessThanOrEqual(0.6);
  },
);
