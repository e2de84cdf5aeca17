import { describe, expect, test } from 'vitest';
import { BASE_URL, failure, GUILD, type Place, type Respond, type Result, startPlace, success } from './fixture.ts';

const WINDOW_MS = 60_000;
const SETTINGS = `guildId = "${GUILD}", baseUrl = "${BASE_URL}"`;

/** Counts requests in fixed windows of a minute, as the service does for all servers of a key. */
function countingService(place: () => Place, limit: number): { respond: Respond; rejected: () => number } {
  let window = -1;
  let used = 0;
  let rejected = 0;
  const respond: Respond = () => {
    const now = place().clock.now();
    const current = Math.floor(now / WINDOW_MS);
    if (current !== window) used = 0;
    window = current;
    const reset = ((current + 1) * WINDOW_MS) / 1000;
    const headers = (remaining: number) => ({
      'x-ratelimit-limit': String(limit),
      'x-ratelimit-remaining': String(remaining),
      'x-ratelimit-reset': String(reset),
    });
    if (used >= limit) {
      rejected++;
      const retryAfter = Math.ceil(reset - now / 1000);
      const details = { category: 'lookup', limit, window: 60, retryAfter };
      return failure(429, 'RATE_LIMITED', { ...headers(0), 'retry-after': String(retryAfter) }, details);
    }
    used++;
    return success({ used }, headers(limit - used));
  };
  return { respond, rejected: () => rejected };
}

/** The largest number of requests that fall into any minute. */
function busiestMinute(place: Place): number {
  const times = place.engine.requests.map(({ at }) => at);
  return Math.max(...times.map((from) => times.filter((at) => at >= from && at < from + WINDOW_MS).length));
}

const lookups = (count: number, options = '{ timeout = 600 }') => `
  local results, running = {}, ${count}
  for call = 1, ${count} do
    task.spawn(function()
      results[call] = guild.api.getLinkByGameId({ gameId = call }, ${options})
      running -= 1
    end)
  end
  while running > 0 do
    task.wait(0.1)
  end
  return results`;

describe('the rate limits of the service', () => {
  test('calls wait for the next window instead of being rejected', async () => {
    const service = countingService(() => place, 60);
    const place: Place = await startPlace({ respond: service.respond });
    const results = await place.run<Result[]>(`
      local results = {}
      for call = 1, 150 do
        results[call] = guild.api.getLinkByGameId({ gameId = call })
      end
      return results`);
    expect(results.filter(({ ok }) => !ok)).toEqual([]);
    expect(service.rejected()).toBe(0);
    expect(place.engine.requests).toHaveLength(150);
  });

  test('calls at the same time share what is left, from the first one on', async () => {
    const service = countingService(() => place, 60);
    const place: Place = await startPlace({ respond: service.respond });
    place.engine.network.latency = 200;
    const results = await place.run<Result[]>(lookups(150));
    expect(results.filter(({ ok }) => !ok)).toEqual([]);
    expect(service.rejected()).toBe(0);
  });

  test('calls slow down when little is left, so that other servers get their part', async () => {
    const headers = (remaining: number) => ({
      'x-ratelimit-limit': '100',
      'x-ratelimit-remaining': String(remaining),
      'x-ratelimit-reset': String(Math.floor(Date.parse('2026-01-01T00:01:00Z') / 1000)),
    });
    const seconds = async (remaining: number, options: string) => {
      const place = await startPlace({ respond: () => success({}, headers(remaining)) });
      await place.run(`
        for call = 1, 6 do
          guild.api.getLinkByGameId({ gameId = call }, ${options})
        end`);
      return place.times.at(-1) ?? 0;
    };
    expect(await seconds(50, '{}')).toBeLessThan(1);
    expect(await seconds(2, '{}')).toBeGreaterThan(5);
    expect(await seconds(2, '{ urgent = true }')).toBeLessThan(1);
  });

  test('a rejected category waits, others go on', async () => {
    let isFirst = true;
    const respond: Respond = ({ url }) => {
      const isRejected = url.includes('/lookup/') && isFirst;
      if (isRejected) isFirst = false;
      return isRejected ? failure(429, 'RATE_LIMITED', { 'retry-after': '20' }, { category: 'lookup' }) : success({});
    };
    const place = await startPlace({ respond });
    const seconds = await place.run<number[]>(`
      local begun, seconds = os.clock(), {}
      local function note(index, call)
        task.spawn(function()
          assert(call().ok)
          seconds[index] = os.clock() - begun
        end)
      end
      note(1, function() return guild.api.getLinkByGameId({ gameId = 1 }) end)
      task.wait(1)
      note(2, function() return guild.api.getLinkByGameId({ gameId = 2 }) end)
      note(3, function() return guild.api.listBindings() end)
      task.wait(40)
      return seconds`);
    expect(seconds[0]).toBeGreaterThanOrEqual(20);
    expect(seconds[1]).toBeGreaterThanOrEqual(20);
    expect(seconds[1]).toBeLessThan(25);
    expect(seconds[2]).toBeLessThan(2);
  });

  test('after a rejection by the cap of the key every call waits', async () => {
    const respond: Respond = (_, index) =>
      index === 0 ? failure(429, 'RATE_LIMITED', { 'retry-after': '20' }, { category: 'api_key' }) : success({});
    const place = await startPlace({ respond });
    await place.run('guild.api.whoami() guild.api.listBindings()');
    expect(place.times[1]).toBeGreaterThanOrEqual(20);
  });

  test.each([401, 429])(
    'the limit of failed authentications that a %d reports does not delay later calls',
    async (status) => {
      const headers = {
        'x-ratelimit-limit': '30',
        'x-ratelimit-remaining': '0',
        'x-ratelimit-reset': String(Date.parse('2026-01-01T00:01:00Z') / 1000),
        ...(status === 429 && { 'retry-after': '1' }),
      };
      const code = status === 401 ? 'INVALID_API_KEY' : 'RATE_LIMITED';
      const details = status === 401 ? {} : { category: 'authentication', limit: 30, window: 60, retryAfter: 1 };
      const respond: Respond = (_, index) => (index === 0 ? failure(status, code, headers, details) : success({}));
      const place = await startPlace({ respond });
      const results = await place.run<Result[]>(`
      local first = guild.api.getLinkByGameId({ gameId = 1 }, { attempts = 1 })
      return { first, guild.api.getLinkByGameId({ gameId = 2 }) }`);
      expect(results.map(({ ok }) => ok)).toEqual([false, true]);
      expect(place.times[1]).toBeLessThan(5);
    },
  );

  test('a 429 of the limit of the operation delays later calls until that limit is reset', async () => {
    const headers = {
      'x-ratelimit-limit': '60',
      'x-ratelimit-remaining': '0',
      'x-ratelimit-reset': String(Date.parse('2026-01-01T00:01:00Z') / 1000),
      'retry-after': '50',
    };
    const respond: Respond = (_, index) =>
      index === 0 ? failure(429, 'RATE_LIMITED', headers, { category: 'lookup', retryAfter: 50 }) : success({});
    const place = await startPlace({ respond });
    await place.run(`
      guild.api.getLinkByGameId({ gameId = 1 }, { attempts = 1 })
      guild.api.getLinkByGameId({ gameId = 2 }, { timeout = 100 })`);
    expect(place.times[1]).toBeGreaterThanOrEqual(50);
  });

  test('a call that would wait longer than its time fails at once, without a request', async () => {
    const respond: Respond = () => failure(429, 'RATE_LIMITED', { 'retry-after': '50' }, { category: 'lookup' });
    const place = await startPlace({ respond });
    const result = await place.run<{ result: Result; seconds: number }>(`
      guild.api.getLinkByGameId({ gameId = 1 }, { timeout = 5 })
      local begun = os.clock()
      local result = guild.api.getLinkByGameId({ gameId = 2 }, { timeout = 5 })
      return { result = result, seconds = os.clock() - begun }`);
    expect(result.result).toMatchObject({ ok: false, status: 0, code: 'RATE_LIMITED' });
    expect(result.result.retry_after).toBeGreaterThan(40);
    expect(result.seconds).toBeLessThan(1);
    expect(place.engine.requests).toHaveLength(1);
  });

  test('wrong clocks and strange headers delay no call by more than a minute', async () => {
    const strange = ['-1', 'NaN', '99999999999', 'x', ''];
    const place = await startPlace({
      respond: (_, index) =>
        success(
          {},
          { 'x-ratelimit-limit': '10', 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': strange[index % 5] ?? '' },
        ),
    });
    const results = await place.run<Result[]>(`
      local results = {}
      for call = 1, 10 do
        results[call] = guild.api.getLinkByGameId({ gameId = call }, { timeout = 70 })
      end
      return results`);
    expect(results.filter(({ ok }) => !ok)).toEqual([]);
    const gaps = place.times.slice(1).map((time, index) => time - (place.times[index] ?? 0));
    expect(Math.max(...gaps)).toBeLessThan(64);
  });
});

describe('the limits of the engine', () => {
  test('no minute has more requests than the settings allow, and none is lost', async () => {
    const place = await startPlace({ settings: `${SETTINGS}, requestsPerMinute = 100` });
    const results = await place.run<Result[]>(lookups(200));
    expect(results.filter(({ ok }) => ok)).toHaveLength(200);
    expect(place.engine.requests).toHaveLength(200);
    expect(busiestMinute(place)).toBeLessThanOrEqual(100);
    // The settings are used, too.
    expect(busiestMinute(place)).toBeGreaterThan(75);
  });

  test('by default 200 of the 500 requests a minute are left to the game', async () => {
    const place = await startPlace();
    await place.run(`${lookups(200)}, (function() ${lookups(200)} end)(), (function() ${lookups(200)} end)()`);
    expect(busiestMinute(place)).toBeLessThanOrEqual(300);
    expect(place.engine.requests.filter(({ error }) => error !== undefined)).toEqual([]);
  });

  test('more than 200 calls at once are refused, so that the memory is bounded', async () => {
    const place = await startPlace({ settings: `${SETTINGS}, requestsPerMinute = 60` });
    const results = await place.run<Result[]>(lookups(500));
    const refused = results.filter(({ ok }) => !ok);
    expect(refused.length).toBe(300);
    expect(new Set(refused.map(({ code }) => code))).toEqual(new Set(['TOO_MANY_CALLS']));
  });

  test('urgent calls go ahead of others that wait', async () => {
    const place = await startPlace({ settings: `${SETTINGS}, requestsPerMinute = 5` });
    await place.run(`
      for call = 1, 5 do
        task.spawn(guild.api.getLinkByGameId, { gameId = call }, { timeout = 300 })
      end
      return guild.api.listBindings(nil, { urgent = true, timeout = 300 })`);
    expect(place.engine.requests[1]?.url).toContain('/bindings/list');
  });

  test('Studio sends at most three requests at once, and no more wait inside the engine', async () => {
    const place = await startPlace({ studio: true });
    place.engine.network.latency = 500;
    const results = await place.run<Result[]>(lookups(20));
    expect(results.filter(({ ok }) => ok)).toHaveLength(20);
    expect(place.engine.http.maxInFlight).toBe(3);
  });

  test('when the game itself has used up the limit of the engine, calls wait and say why', async () => {
    const place = await startPlace();
    const result = await place.run<Result[]>(`
      for request = 1, 500 do
        task.spawn(HttpService.RequestAsync, HttpService, { Url = "https://other.example.com" })
      end
      task.wait(1)
      return { guild.api.whoami(nil, { attempts = 1, timeout = 100 }), guild.api.whoami(nil, { timeout = 200 }) }`);
    expect(result[0]).toMatchObject({ ok: false, code: 'TIMEOUT' });
    expect(result[1]).toMatchObject({ ok: true });
    expect(place.warnings).toEqual([expect.stringContaining('more than 500 requests in a minute')]);
  });
});
