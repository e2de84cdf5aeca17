import { afterAll, beforeAll, expect, test } from 'vitest';
import type { RunningService } from '#kit/service/service.ts';
import { startTcpProxy, type TcpProxy } from '#test/network/tcp-proxy.ts';
import { GUILD, MembersFixture, newAccounts, portOf } from './fixture.ts';

/** The gateway waits for a service so long. */
const GATEWAY_MS = 8_000;

const fixture = new MembersFixture();
let proxy: TcpProxy;
let at: RunningService;

beforeAll(async () => {
  await fixture.start();
  proxy = await startTcpProxy(portOf(fixture.bindings.addresses.grpc));
  at = await fixture.startMembers({ BINDINGS_GRPC_ADDRESS: `127.0.0.1:${proxy.port}` });
});
afterAll(async () => {
  await at.stop();
  await proxy.close();
  await fixture.stop();
});

test('while bindings does not answer a sync is told so before the gateway gives up, and can be repeated', async () => {
  const { chatId, gameId } = newAccounts();
  await fixture.linkPastMembers(chatId, gameId);
  const sync = () => fixture.post('/sync/roles', { guild_id: GUILD, chat_id: chatId }, { at, key: 'slow' });
  // A connection first: what is frozen must have been there.
  expect((await fixture.post('/sync/roles', { guild_id: GUILD, chat_id: chatId }, { at })).status).toBe(404);
  proxy.freezeAll();
  const started = performance.now();
  const answer = await sync();
  const waited = performance.now() - started;
  console.log(`with bindings silent a sync was answered after ${waited.toFixed(0)} ms`);
  expect(waited).toBeLessThan(GATEWAY_MS);
  expect([answer.status, answer.body.details.code]).toEqual([504, 'TIMEOUT']);
  // The key is free, and no lock is held.
  proxy.thaw();
  proxy.cut();
  await expect.poll(async () => (await sync()).body.details.code).toBe('NOT_FOUND');
}, 60_000);
