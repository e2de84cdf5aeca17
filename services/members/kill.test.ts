import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTcpProxy } from '#test/network/tcp-proxy.ts';
import { PATIENCE } from '#test/patience.ts';
import { GUILD, MembersFixture, newAccounts, portOf } from './fixture.ts';

const fixture = new MembersFixture();
beforeAll(() => fixture.start());
afterAll(() => fixture.stop());

test('kill -9 between the two stores: another process gives the response that the client never got', async () => {
  const { chatId, gameId } = newAccounts();
  const { token, code } = await fixture.token(chatId);
  const proxy = await startTcpProxy(portOf(fixture.lookup.addresses.grpc));
  const lookupAddress = `127.0.0.1:${proxy.port}`;
  const { kill, at } = await fixture.startMembersProcess({ LOOKUP_GRPC_ADDRESS: lookupAddress });
  // Opens the connection to lookup on which the response is lost later.
  expect((await fixture.get(`/guilds/${GUILD}/verified`, { at })).status).toBe(200);

  proxy.dropResponses();
  const response = fixture.redeem({ code }, gameId, { key: 'killed', at }).then(
    () => 'a response',
    () => 'nothing',
  );
  await expect.poll(() => fixture.linkOf(chatId)).toMatchObject({ gameId });
  await kill();
  expect(await response).toBe('nothing');
  expect(await fixture.openIntents()).toBe(1);
  expect((await fixture.get(`/verification/tokens/${token}`)).body.data.status).toBe('pending');

  // The lease of the killed process, which used the machine's clock, ends.
  await fixture.advance(Date.now() - fixture.clock.now() + 20_000);
  await expect.poll(() => fixture.openIntents()).toBe(0);
  const { data } = (await fixture.get(`/verification/tokens/${token}`)).body;
  expect(data).toMatchObject({ status: 'completed', game_id: gameId });
  const repeat = await fixture.redeem({ code }, gameId, { key: 'killed' });
  expect(repeat).toMatchObject({ status: 200, body: { data: { chat_id: chatId, game_id: gameId } } });
  expect(repeat.headers.get('idempotency-replayed')).toBe('true');
  await proxy.close();
});

test('if the database fails during a link change, a repeat succeeds once it responds again', async () => {
  await fixture.returnToRealTime();
  const { chatId, gameId } = newAccounts();
  const { code } = await fixture.token(chatId);
  const url = new URL(fixture.database.url);
  const toDatabase = await startTcpProxy(Number(url.port));
  url.host = `127.0.0.1:${toDatabase.port}`;
  const toLookup = await startTcpProxy(portOf(fixture.lookup.addresses.grpc));
  const LOOKUP_GRPC_ADDRESS = `127.0.0.1:${toLookup.port}`;
  const { kill, at } = await fixture.startMembersProcess({ DATABASE_URL: url.href, LOOKUP_GRPC_ADDRESS });
  const redeem = () => fixture.redeem({ code }, gameId, { key: 'database lost', at });
  const claims = () =>
    fixture.query("SELECT 1 FROM members.idempotency WHERE key = 'database lost' AND status IS NULL");

  // The change is claimed, and waits for lookup.
  toLookup.hold();
  const first = redeem();
  await expect.poll(claims).toHaveLength(1);
  await toDatabase.refuse();
  toLookup.release();
  expect(await first).toMatchObject({ status: 503 });

  await toDatabase.accept();
  // Before the claim expires after 60 s, and before a worker takes the change over after 10 s.
  await expect
    .poll(redeem, { ...PATIENCE, timeout: 8_000 })
    .toMatchObject({ status: 200, body: { data: { chat_id: chatId } } });
  await kill();
  await Promise.all([toDatabase.close(), toLookup.close()]);
});
