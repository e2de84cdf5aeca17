import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { withinBound } from '../measure/bounds.ts';
import { type Network, OTHER_GUILD, startNetwork } from '../system/system.ts';

const EVERYWHERE_MS = 1_000;
const OFTEN = { interval: 10 };

let network: Network;
/** Two gateways that are connected to different auth replicas. */
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
  const responses = gateways.map((api) => network.call('/whoami', { api, key: secret }));
  return (await Promise.all(responses)).map((response) => response.status);
}

/** Milliseconds until every gateway returns the status. */
async function until(secret: string, status: number): Promise<number> {
  const started = performance.now();
  await expect.poll(() => statuses(secret), OFTEN).toEqual([status, status]);
  return performance.now() - started;
}

describe('a key change reaches every gateway within a second, regardless of the auth replica that accepted it', () => {
  it('revoked', async () => {
    const { id, secret } = await network.createKey();
    expect(await statuses(secret)).toEqual([200, 200]);
    await network.admin().revokeKey({ keyId: id, actor: 'test' });
    withinBound('a revoked key is rejected by two gateways', await until(secret, 401), EVERYWHERE_MS);
  });

  it('rotated: the old secret works during the grace period, and without one not at all', async () => {
    const { id, secret } = await network.createKey();
    expect(await statuses(secret)).toEqual([200, 200]);
    const second = await network.admin().rotateKey({ keyId: id, graceSeconds: 3600, actor: 'test' });
    expect(await statuses(second.secret)).toEqual([200, 200]);
    expect(await statuses(secret)).toEqual([200, 200]);
    expect(second.key?.id).toBe(id);
    expect(second.secret.slice(0, -32)).not.toBe(secret.slice(0, -32));
    const third = await network.admin().rotateKey({ keyId: id, graceSeconds: 0, actor: 'test' });
    withinBound('a secret rotated without grace is rejected', await until(second.secret, 401), EVERYWHERE_MS);
    expect(await statuses(third.secret)).toEqual([200, 200]);
  });

  it('updated: the new scopes apply immediately', async () => {
    const { id, secret } = await network.createKey({ guildId: OTHER_GUILD });
    const lookup = () =>
      Promise.all(
        gateways.map((api) =>
          network.call('/lookup/game/7', { api, key: secret, headers: { 'x-guild-id': OTHER_GUILD } }),
        ),
      );
    expect((await lookup()).map(({ status }) => status)).toEqual([404, 404]);
    await network.admin().updateKey({ keyId: id, scopes: { values: ['server:write'] }, actor: 'test' });
    const started = performance.now();
    await expect.poll(async () => (await lookup()).map(({ status }) => status), OFTEN).toEqual([403, 403]);
    withinBound('a scope that was taken away is missing', performance.now() - started, EVERYWHERE_MS);
  });
});
