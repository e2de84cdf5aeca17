import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Network, startNetwork } from '../system/system.ts';

let network: Network;
beforeAll(async () => {
  network = await startNetwork({
    environment: { SECURITY_CONTACT: 'mailto:security@guild-data.example', PUBLIC_URL: 'https://api.example' },
  });
});
afterAll(() => network.stop());

const get = (method = 'GET') => {
  const url = `http://${network.address('gateway', 'http')}/.well-known/security.txt`;
  return fetch(url, { method });
};

it('security.txt is public and says where to report a vulnerability', async () => {
  const response = await get();
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toBe('text/plain; charset=utf-8');
  const text = await response.text();
  expect(text).toContain('Contact: mailto:security@guild-data.example\n');
  expect(text).toContain('Canonical: https://api.example/.well-known/security.txt\n');
  const expires = Date.parse(/^Expires: (.*)$/m.exec(text)?.[1] ?? '');
  expect(expires).toBeGreaterThan(Date.now() + 100 * 24 * 3600 * 1000);
  expect(expires).toBeLessThan(Date.now() + 365 * 24 * 3600 * 1000);
  expect((await get('POST')).headers.get('allow')).toBe('GET, HEAD');
});

it('without a contact there is no security.txt', async () => {
  await network.startOne('gateway', { SECURITY_CONTACT: '' });
  const response = await get();
  expect(response.status).toBe(404);
  expect(await response.json()).toMatchObject({ details: { code: 'ROUTE_NOT_FOUND' } });
});
