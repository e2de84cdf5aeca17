import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type CallResult, GUILD, type Network, OTHER_GUILD, startNetwork } from '../network.ts';

let network: Network;
/** Two gateways, each on another auth replica. */
let gateways: string[];

beforeAll(async () => {
  network = await startNetwork();
  const first = network.services.get('gateway');
  await network.startOne('auth');
  await network.startOne('gateway');
  gateways = [first, network.services.get('gateway')].map((service) => `http://${service?.addresses.http}/api/v1`);
});
afterAll(() => network.stop());

async function statuses(secret: string): Promise<number[]> {
  const answers = gateways.map((gateway) => fetch(`${gateway}/whoami`, { headers: { 'x-api-key': secret } }));
  return (await Promise.all(answers)).map((answer) => answer.status);
}

/** Milliseconds until every gateway answers with the status. */
async function until(secret: string, status: number): Promise<number> {
  const started = performance.now();
  await expect.poll(() => statuses(secret), { interval: 10, timeout: 5000 }).toEqual([status, status]);
  return performance.now() - started;
}

describe('a change of a key reaches every gateway within a second, whichever auth replica took it', () => {
  it('revoked', async () => {
    const { id, secret } = await network.createKey();
    expect(await statuses(secret)).toEqual([200, 200]);
    await network.admin().revokeKey({ keyId: id, actor: 'test' });
    const ms = await until(secret, 401);
    console.log(`a revoked key was refused by two gateways after ${ms.toFixed(0)} ms`);
    expect(ms).toBeLessThan(1000);
  });

  it('rotated: the old secret works for its grace period, without one not at all', async () => {
    const { id, secret } = await network.createKey();
    expect(await statuses(secret)).toEqual([200, 200]);
    const second = await network.admin().rotateKey({ keyId: id, graceSeconds: 3600, actor: 'test' });
    expect(await statuses(second.secret)).toEqual([200, 200]);
    expect(await statuses(secret)).toEqual([200, 200]);
    expect(second.key?.id).toBe(id);
    expect(second.secret.slice(0, -32)).not.toBe(secret.slice(0, -32));
    const third = await network.admin().rotateKey({ keyId: id, graceSeconds: 0, actor: 'test' });
    expect(await until(second.secret, 401)).toBeLessThan(1000);
    expect(await statuses(third.secret)).toEqual([200, 200]);
  });

  it('narrowed: its scopes count at once', async () => {
    const { id, secret } = await network.createKey({ guildId: OTHER_GUILD });
    const lookup = () =>
      Promise.all(
        gateways.map((gateway) =>
          fetch(`${gateway}/lookup/game/7`, { headers: { 'x-api-key': secret, 'x-guild-id': OTHER_GUILD } }),
        ),
      );
    expect((await lookup()).map(({ status }) => status)).toEqual([404, 404]);
    await network.admin().updateKey({ keyId: id, scopes: { values: ['server:write'] }, actor: 'test' });
    await expect
      .poll(async () => (await lookup()).map(({ status }) => status), { interval: 10, timeout: 1000 })
      .toEqual([403, 403]);
  });
});

describe('refused authentications are counted per address', () => {
  /** 40 calls with a wrong key, at the beginning of a window or early enough that the test ends within it. */
  async function refusals(): Promise<CallResult[]> {
    await expect.poll(() => Date.now() % 60_000, { timeout: 15_000, interval: 100 }).toBeLessThan(50_000);
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
