import { Client } from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { GUILD, type Network, startNetwork } from '../network.ts';

let network: Network;
const logLines: string[] = [];

beforeAll(async () => {
  network = await startNetwork({ logLines });
});
afterAll(() => network.stop());

/** Every row of every table as text. */
async function dump(): Promise<string> {
  const client = new Client({ connectionString: network.databaseUrl });
  await client.connect();
  try {
    const tables = await client.query<{ name: string }>(
      `SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables
       WHERE schemaname NOT IN ('pg_catalog', 'information_schema')`,
    );
    const rows = [];
    for (const { name } of tables.rows) rows.push(...(await client.query(`SELECT t::text FROM ${name} t`)).rows);
    return JSON.stringify(rows);
  } finally {
    await client.end();
  }
}

it('no secret is found in any log, answer, metric or row: keys, tokens and codes', async () => {
  const { id, secret } = await network.createKey();
  const answers: string[] = [];
  const say = async (...call: Parameters<Network['call']>) => {
    const answer = await network.call(...call);
    answers.push(JSON.stringify(answer.json), JSON.stringify([...answer.headers]));
    return answer;
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
  const places = { logs: logLines.join(''), answers: answers.join(''), metrics: metrics.join(''), rows: await dump() };
  expect(logLines.length).toBeGreaterThan(10);
  const hidden = secret.slice(`service_${GUILD}_`.length + 6);
  for (const [place, text] of Object.entries(places)) {
    for (const canary of [hidden, token.json.data.token, token.json.data.code]) {
      expect(text.includes(canary), `${canary.slice(0, 4)}… in ${place}`).toBe(false);
    }
  }
});
