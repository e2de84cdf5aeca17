import { randomBytes } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeApiKey } from '#kit/security/api-key.ts';
import { amount } from '../measure/bounds.ts';
import { printFigure } from '../measure/figures.ts';
import { waitForWindowTime } from '../measure/windows.ts';
import { PATIENCE } from '../patience.ts';
import { type CallResult, GUILD, type Network, startNetwork } from '../system/system.ts';

let network: Network;

beforeAll(async () => {
  network = await startNetwork();
});
afterAll(() => network.stop());

describe('failed authentications are counted per address', () => {
  /** Sends 40 requests with an invalid key, early enough that the test ends within the same window. */
  async function rejections(): Promise<CallResult[]> {
    await waitForWindowTime(10_000);
    const responses = [];
    const wrong = `service_${GUILD}_${'0'.repeat(38)}`;
    for (let count = 0; count < 40; count++) responses.push(await network.call('/whoami', { key: wrong }));
    return responses;
  }

  it('30 requests get 401, further ones 429; a cached valid key is never rejected', async () => {
    const { secret } = await network.createKey();
    const call = (key: string, query = '') => network.call(`/whoami${query}`, { key });
    expect((await call(secret)).status).toBe(200);
    const responses = await rejections();
    const codes = responses.map(({ status }) => status);
    expect(new Set(codes)).toEqual(new Set([401, 429]));
    const rejected = responses.find(({ status }) => status === 429);
    expect(rejected?.json.details).toMatchObject({
      code: 'RATE_LIMITED',
      category: 'authentication',
      limit: 30,
      window: 60,
    });
    expect(Number(rejected?.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(rejected?.headers.get('x-ratelimit-limit')).toBe('30');
    expect(rejected?.headers.get('x-ratelimit-remaining')).toBe('0');
    expect((await call(secret, '?key=1')).status).toBe(401);
    expect((await call(secret)).status).toBe(200);
  });

  it('for an address above the limit unknown keys are still looked up, at a limited rate per guild', async () => {
    await exhaust();
    const { secret } = await network.createKey();
    const response = await untilAllowed(secret);
    expect(response.status).toBe(200);
    const flood = await Promise.all(
      Array.from({ length: 60 }, () => network.call('/whoami', { key: wrongKey(GUILD) })),
    );
    expect(new Set(flood.map(({ status }) => status))).toEqual(new Set([429]));
    const beyondRate = flood.filter(({ headers }) => headers.get('retry-after') === '1');
    expect(beyondRate.length).toBeGreaterThan(0);
    expect(beyondRate[0]?.json.details).toEqual({
      code: 'RATE_LIMITED',
      category: 'authentication',
      limit: 30,
      window: 60,
      retryAfter: 1,
    });
    expect(beyondRate[0]?.headers.get('x-ratelimit-remaining')).toBe('0');
    expect((await network.call('/whoami', { key: secret })).status).toBe(200);
  });

  it('on a gateway that has just started, valid keys are accepted from the address of an attacker', async () => {
    const guilds = Array.from({ length: amount(20, 100) }, (_, index) => `91000000000000${1000 + index}`);
    const keys = await Promise.all(guilds.map((guildId) => network.createKey({ guildId })));
    await network.startOne('gateway');
    await exhaust();
    const over = new AbortController();
    const claimed = [guilds[0], ...Array.from({ length: 6 }, () => undefined)];
    const attacks = Promise.all(claimed.map((guildId) => attack(guildId, over.signal)));
    const servers = keys.flatMap(({ secret }) => [secret, secret, secret]);
    const started = performance.now();
    const responses = await Promise.all(servers.map((secret) => untilAllowed(secret)));
    printFigure(`${servers.length} servers of ${keys.length} guilds are accepted`, `${performance.now() - started} ms`);
    expect(responses.map(({ status }) => status)).toEqual(servers.map(() => 200));
    // A cached key is accepted immediately.
    const again = await Promise.all(keys.map(({ secret }) => network.call('/whoami', { key: secret })));
    expect(again.map(({ status }) => status)).toEqual(keys.map(() => 200));
    over.abort();
    expect(Math.min(...(await attacks))).toBeGreaterThan(0);
  }, 60_000);
});

/** A well-formed key that was never issued. */
function wrongKey(guildId: string): string {
  return makeApiKey(guildId, randomBytes);
}

/** Sends so many invalid keys that the address stays above its limit for a while. */
async function exhaust(): Promise<void> {
  await waitForWindowTime(20_000);
  for (let count = 0; count < 31; count++) await network.call('/whoami', { key: 'malformed' });
}

/** Retries as `Retry-After` says, and returns the first response other than 429. */
async function untilAllowed(key: string): Promise<CallResult> {
  const started = performance.now();
  for (;;) {
    const response = await network.call('/whoami', { key });
    if (response.status !== 429 || performance.now() - started > PATIENCE.timeout) return response;
    await wait(Number(response.headers.get('retry-after')) * 1_000);
  }
}

/** Sends invalid keys of one guild, or of random guilds, until the signal aborts. Returns their number. */
async function attack(guildId: string | undefined, signal: AbortSignal): Promise<number> {
  let sent = 0;
  for (; !signal.aborted; sent++) {
    const claimed = guildId ?? `92${randomBytes(6).readUIntBE(0, 6).toString().padStart(15, '0')}`;
    const { status } = await network.call('/whoami', { key: wrongKey(claimed) });
    expect(status).toBe(429);
  }
  return sent;
}
