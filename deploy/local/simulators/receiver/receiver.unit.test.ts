import { createHmac, randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { RunningServer } from '../server.ts';
import { startReceiver } from './receiver.ts';

let receiver: RunningServer;
const printed: string[] = [];

beforeAll(async () => {
  receiver = await startReceiver({ print: (line) => printed.push(line) });
});
afterAll(() => receiver.stop());

const KEY = randomBytes(32);
const SECRET = `whsec_${KEY.toString('base64')}`;
const BODY = JSON.stringify({ type: 'ban.created', seq: 4, guild_id: '900000000000000001', data: { game_id: 7001 } });

const put = (name: string, secret: unknown) =>
  fetch(`${receiver.url}/__secrets/${name}`, { method: 'PUT', body: JSON.stringify({ secret }) });

async function deliver(path: string, { key = KEY, at = Math.floor(Date.now() / 1000), body = BODY } = {}) {
  const signature = createHmac('sha256', key).update(`msg_1.${at}.${body}`).digest('base64');
  const headers = {
    'webhook-id': 'msg_1',
    'webhook-timestamp': String(at),
    'webhook-signature': `v1,AAAA v1,${signature}`,
  };
  return (await fetch(`${receiver.url}/hooks/${path}`, { method: 'POST', headers, body })).status;
}

const received = async (name: string) => {
  const response = await fetch(`${receiver.url}/__received/${name}`);
  return ((await response.json()) as { received: { signature: string; type: string }[] }).received;
};

test('a delivery is printed with the result of its verification, also if only the second signature is right', async () => {
  expect((await put('shop', SECRET)).status).toBe(200);
  expect(await deliver('shop')).toBe(204);
  expect(JSON.parse(printed.at(-1) ?? '')).toMatchObject({ webhook: 'shop', seq: 4, signature: 'valid', status: 204 });
  expect(await received('shop')).toMatchObject([{ type: 'ban.created', signature: 'valid' }]);
});

test('a wrong key, an old timestamp and an unknown secret are told apart', async () => {
  await put('strict', SECRET);
  expect(await deliver('strict', { key: randomBytes(32) })).toBe(401);
  expect(await deliver('strict', { at: Math.floor(Date.now() / 1000) - 600 })).toBe(204);
  expect(await deliver('unknown')).toBe(204);
  expect((await received('strict')).map(({ signature }) => signature)).toEqual(['invalid', 'expired']);
  expect((await received('unknown')).map(({ signature }) => signature)).toEqual(['no secret']);
});

test('the URL makes deliveries fail or respond late', async () => {
  const began = performance.now();
  expect(await deliver('late?status=503&delay_ms=50')).toBe(503);
  expect(performance.now() - began).toBeGreaterThanOrEqual(49);
});

test('other requests are 404, and a secret that is no text is 400', async () => {
  expect((await fetch(`${receiver.url}/hooks/`)).status).toBe(404);
  expect((await put('shop', 7)).status).toBe(400);
});
