import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type CallResult, GUILD, type Network, startNetwork } from '../network.ts';
import { untilWindowHas } from '../windows.ts';

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
    const unseen = await network.createKey();
    expect((await call(unseen.secret)).status).toBe(429);
  });
});
