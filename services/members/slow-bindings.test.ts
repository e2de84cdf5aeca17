import { afterAll, beforeAll, expect, test } from 'vitest';
import type { RunningService } from '#kit/service/service.ts';
import { startTcpProxy, type TcpProxy } from '#test/network/tcp-proxy.ts';
import { GUILD, MembersFixture, newAccounts, portOf } from './fixture.ts';

/** The gateway's timeout for a service. */
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

test('while bindings does not respond a sync fails before the gateway times out, and can be retried', async () => {
  const { chatId, gameId } = newAccounts();
  await fixture.linkPastMembers(chatId, gameId);
  const sync = () => fixture.post('/sync/roles', { guild_id: GUILD, chat_id: chatId }, { at, key: 'slow' });
  // Opens a connection first, because only open connections are frozen.
  expect((await fixture.post('/sync/roles', { guild_id: GUILD, chat_id: chatId }, { at })).status).toBe(404);
  proxy.freezeAll();
  const started = performance.now();
  const response = await sync();
  const waited = performance.now() - started;
  console.log(`without a response of bindings a sync failed after ${waited.toFixed(0)} ms`);
  expect(waited).toBeLessThan(GATEWAY_MS);
  expect([response.status, response.body.details.code]).toEqual([504, 'TIMEOUT']);
  // The Idempotency-Key is free again, and no lock is held.
  proxy.thaw();
  proxy.cut();
  await expect.poll(async () => (await sync()).body.details.code).toBe('NOT_FOUND');
}, 60_000);
