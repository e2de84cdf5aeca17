import { randomBytes } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeApiKey } from '#kit/security/api-key.ts';
import { amount } from '../measure/bounds.ts';
import { printFigure } from '../measure/figures.ts';
import { untilWindowHas } from '../measure/windows.ts';
import { PATIENCE } from '../patience.ts';
import { type CallResult, GUILD, type Network, startNetwork } from '../system/system.ts';

let network: Network;

beforeAll(async () => {
  network = await startNetwork();
});
afterAll(() => network.stop());

describe('refused authentications are counted per address', () => {
  /** 40 calls with a wrong key, so early that the test ends within their window. */
  async function refusals(): Promise<CallResult[]> {
    await untilWindowHas(10_000);
    const answers = [];
    const wrong = `service_${GUILD}_${'0'.repeat(38)}`;
    for (let count = 0; count < 40; count++) answers.push(await network.call('/whoami', { key: wrong }));
    return answers;
  }

  it('30 are 401, the rest 429; a key known good is never refused by it', async () => {
    const { secret } = await network.createKey();
    const call = (key: string, query = '') => network.call(`/whoami${query}`, { key });
    expect((await call(secret)).status).toBe(200);
    const answers = await refusals();
    const codes = answers.map(({ status }) => status);
    expect(new Set(codes)).toEqual(new Set([401, 429]));
    const refused = answers.find(({ status }) => status === 429);
    expect(refused?.json.details).toMatchObject({
      code: 'RATE_LIMITED',
      category: 'authentication',
      limit: 30,
      window: 60,
    });
    expect(Number(refused?.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(refused?.headers.get('x-ratelimit-limit')).toBe('30');
    expect(refused?.headers.get('x-ratelimit-remaining')).toBe('0');
    expect((await call(secret, '?key=1')).status).toBe(401);
    expect((await call(secret)).status).toBe(200);
  });

  it('an address beyond the limit still has unknown keys looked up, at a limited rate for each guild', async () => {
    await exhaust();
    const { secret } = await network.createKey();
    const answer = await untilAllowed(secret);
    expect(answer.status).toBe(200);
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

  it('on a gateway that has just started, game servers behind the address of an attack get in with valid keys', async () => {
    const guilds = Array.from({ length: amount(20, 100) }, (_, index) => `91000000000000${1000 + index}`);
    const keys = await Promise.all(guilds.map((guildId) => network.createKey({ guildId })));
    await network.startOne('gateway');
    await exhaust();
    const over = new AbortController();
    const claimed = [guilds[0], ...Array.from({ length: 6 }, () => undefined)];
    const attacks = Promise.all(claimed.map((guildId) => attack(guildId, over.signal)));
    const servers = keys.flatMap(({ secret }) => [secret, secret, secret]);
    const started = performance.now();
    const answers = await Promise.all(servers.map((secret) => untilAllowed(secret)));
    printFigure(`${servers.length} servers of ${keys.length} guilds are let in`, `${performance.now() - started} ms`);
    expect(answers.map(({ status }) => status)).toEqual(servers.map(() => 200));
    // Once known, a key waits for nothing any more.
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

/** Fails so often that the address is beyond its limit, and will be for a while. */
async function exhaust(): Promise<void> {
  await untilWindowHas(20_000);
  for (let count = 0; count < 31; count++) await network.call('/whoami', { key: 'malformed' });
}

/** The first response but 429, retried as `Retry-After` says. */
async function untilAllowed(key: string): Promise<CallResult> {
  const started = performance.now();
  for (;;) {
    const answer = await network.call('/whoami', { key });
    if (answer.status !== 429 || performance.now() - started > PATIENCE.timeout) return answer;
    await wait(Number(answer.headers.get('retry-after')) * 1_000);
  }
}

/** Wrong keys of a guild, or each of another, one after the other; returns how many were sent. */
async function attack(guildId: string | undefined, signal: AbortSignal): Promise<number> {
  let sent = 0;
  for (; !signal.aborted; sent++) {
    const claimed = guildId ?? `92${randomBytes(6).readUIntBE(0, 6).toString().padStart(15, '0')}`;
    const { status } = await network.call('/whoami', { key: wrongKey(claimed) });
    expect(status).toBe(429);
  }
  return sent;
}
