import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Call, GUILD, type Network, startNetwork } from '../network.ts';

let network: Network;
let key: string;

beforeEach(async () => {
  network = await startNetwork();
  key = (await network.createKey()).secret;
});
afterEach(() => network.stop());

const lookup: [string, Call] = ['/lookup/game/7', { headers: { 'x-guild-id': GUILD } }];
const call = ([path, options]: [string, Call], secret = key) => network.call(path, { ...options, key: secret });

/** Stops a service and hands out how to start it again where it was. */
async function stop(name: string): Promise<() => Promise<unknown>> {
  const ports = network.samePorts(name);
  await network.services.get(name)?.stop();
  return () => network.startOne(name, ports);
}

describe('when a part is lost', () => {
  it('lookup: its routes are 503 with Retry-After, the others unharmed; back again within 10 s', async () => {
    expect((await call(lookup)).status).toBe(404);
    const start = await stop('lookup');
    const answer = await call(lookup);
    expect(answer.json.details.code).toBe('UNAVAILABLE');
    expect([answer.status, Number(answer.headers.get('retry-after'))]).toEqual([503, 1]);
    expect((await network.call('/whoami', { key })).status).toBe(200);
    await start();
    await expect.poll(async () => (await call(lookup)).status, { timeout: 10_000 }).toBe(404);
  });

  it('auth: known keys go on, an unknown one is 503 and never 401; back again within 10 s', async () => {
    const unknown = (await network.createKey()).secret;
    expect((await call(lookup)).status).toBe(404);
    const start = await stop('auth');
    expect((await call(lookup)).status).toBe(404);
    const answer = await call(lookup, unknown);
    expect([answer.status, answer.json.details.code]).toEqual([503, 'UNAVAILABLE']);
    expect(answer.headers.has('retry-after')).toBe(true);
    await start();
    await expect.poll(async () => (await call(lookup, unknown)).status, { timeout: 10_000 }).toBe(404);
  });

  it('bindings: its routes are 503 with Retry-After, the others unharmed; back again within 10 s', async () => {
    const list: [string, Call] = ['/bindings/list', { headers: { 'x-guild-id': GUILD } }];
    expect((await call(list)).status).toBe(200);
    const start = await stop('bindings');
    const answer = await call(list);
    expect(answer.json.details.code).toBe('UNAVAILABLE');
    expect([answer.status, Number(answer.headers.get('retry-after'))]).toEqual([503, 1]);
    expect((await call(lookup)).status).toBe(404);
    await start();
    await expect.poll(async () => (await call(list)).status, { timeout: 10_000 }).toBe(200);
  });

  it('the game platform: 502 where it was needed, and nothing is stored', async () => {
    const faults = `${network.simulators.game}/__faults`;
    await fetch(faults, { method: 'POST', body: JSON.stringify({ match: '/v1/users/', status: 503 }) });
    const body = { guild_id: GUILD, chat_id: '920000000000000001', game_id: 7001 };
    const link = () => network.call('/verification/link', { method: 'POST', key, body });
    expect((await link()).json.details.code).toBe('PLATFORM_ERROR');
    await fetch(faults, { method: 'DELETE' });
    expect((await link()).status).toBe(201);
  });
});

describe('without Redis', () => {
  it('limits are counted in memory, exactly for one gateway', async () => {
    const alone = await startNetwork({ redisUrl: null });
    try {
      const own = await alone.createKey({ rateLimit: 3 });
      const codes = [];
      for (let count = 0; count < 4; count++) codes.push((await alone.call('/whoami', { key: own.secret })).status);
      expect(codes).toEqual([200, 200, 200, 429]);
    } finally {
      await alone.stop();
    }
  });
});
