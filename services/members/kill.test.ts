import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTcpProxy } from '#test/network/tcp-proxy.ts';
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
