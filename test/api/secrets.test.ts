import { afterAll, beforeAll, expect, it } from 'vitest';
import { Canaries, dumpDatabase, dumpRedis } from '../system/canaries.ts';
import { GUILD, type Network, startNetwork } from '../system/system.ts';

let network: Network;
const logLines: string[] = [];

beforeAll(async () => {
  network = await startNetwork({ logLines });
});
afterAll(() => network.stop());

it('no key, token or code appears in a log, response, metric or row', async () => {
  const { id, secret } = await network.createKey();
  const responses: string[] = [];
  const say = async (...call: Parameters<Network['call']>) => {
    const response = await network.call(...call);
    responses.push(JSON.stringify(response.json), JSON.stringify([...response.headers]));
    return response;
  };
  const token = await network.call('/verification/tokens', {
    method: 'POST',
    key: secret,
    headers: { 'idempotency-key': 'canary' },
    body: { guild_id: GUILD, chat_id: '920000000000000001' },
  });
  expect(token.status).toBe(201);
  await say(`/verification/tokens/${token.json.data.token}`, { key: secret, headers: { 'x-guild-id': GUILD } });
  await say(`/whoami?leak=${secret}`, { key: secret });
  await say(`/nothing/${secret}`, { key: secret });
  await say(`/lookup/chat/${secret}`, { key: secret, headers: { 'x-guild-id': GUILD } });
  await say('/reverse', { method: 'POST', key: secret, body: `{"guild_id":"${secret}"` });
  await say('/reverse', { method: 'POST', key: secret, body: { guild_id: GUILD, chat_id: secret } });
  await say('/whoami', { key: `${secret}x` });
  await say('/whoami', { headers: { authorization: `Bearer ${secret} ${secret}` } });
  await say('/verification/redeem', {
    method: 'POST',
    key: secret,
    body: { guild_id: GUILD, code: token.json.data.code, game_id: 7001, game_username: 'AdaBuilds' },
  });
  await network.admin().rotateKey({ keyId: id, graceSeconds: 60, actor: 'test' });
  await network.admin().revokeKey({ keyId: id, actor: 'test' });
  const metrics = await Promise.all(
    [...network.services.keys()].map(async (name) =>
      (await fetch(`http://${network.address(name, 'admin')}/metrics`)).text(),
    ),
  );
  expect(logLines.length).toBeGreaterThan(10);
  const canaries = new Canaries();
  canaries.addKey('key', secret);
  canaries.add('token', token.json.data.token);
  canaries.add('code', token.json.data.code);
  canaries.place('logs', logLines.join(''));
  canaries.place('responses', responses.join(''));
  canaries.place('metrics', metrics.join(''));
  canaries.place('database', await dumpDatabase(network.databaseUrl));
  canaries.place('Redis', await dumpRedis(network.redisUrl ?? ''));
  expect(canaries.findings()).toEqual([]);
});
