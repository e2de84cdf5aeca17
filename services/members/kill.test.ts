import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { RunningService } from '#kit/service.ts';
import { startTcpProxy } from '#test/tcp-proxy.ts';
import { GUILD, MembersFixture, newAccounts, portOf } from './fixture.ts';

const MAIN = join(import.meta.dirname, 'main.ts');

const fixture = new MembersFixture();
beforeAll(() => fixture.start());
afterAll(() => fixture.stop());

/** Members as a process of its own, once it is ready. */
async function startProcess(lookupAddress: string): Promise<{ process: ChildProcess; at: RunningService }> {
  const environment = { ...fixture.environment(), LOOKUP_GRPC_ADDRESS: lookupAddress, LOG_LEVEL: 'info' };
  const child = spawn(process.execPath, [MAIN], { env: environment, stdio: ['ignore', 'pipe', 'inherit'] });
  for await (const line of createInterface({ input: child.stdout })) {
    const { addresses } = JSON.parse(line) as { addresses?: RunningService['addresses'] };
    if (addresses) return { process: child, at: { ...fixture.members, addresses } };
  }
  throw new Error('members did not become ready');
}

test('kill -9 between the two stores: another process gives the answer that the caller never got', async () => {
  const { chatId, gameId } = newAccounts();
  const { token, code } = await fixture.token(chatId);
  const proxy = await startTcpProxy(portOf(fixture.lookup.addresses.grpc));
  const { process: members, at } = await startProcess(`127.0.0.1:${proxy.port}`);
  // A connection to lookup first: the one that is lost later must have been there.
  expect((await fixture.get(`/guilds/${GUILD}/verified`, { at })).status).toBe(200);

  proxy.loseAnswers();
  const told = fixture.redeem({ code }, gameId, { key: 'killed', at }).then(
    () => 'an answer',
    () => 'nothing',
  );
  await expect.poll(() => fixture.linkOf(chatId)).toMatchObject({ gameId });
  members.kill('SIGKILL');
  await once(members, 'exit');
  expect(await told).toBe('nothing');
  expect(await fixture.openIntents()).toBe(1);
  expect((await fixture.get(`/verification/tokens/${token}`)).body.data.status).toBe('pending');

  // Ten seconds by the clock of the process that is gone, which did not stand still meanwhile.
  fixture.clock.advance(20_000);
  await expect.poll(() => fixture.openIntents(), { timeout: 10_000 }).toBe(0);
  const { data } = (await fixture.get(`/verification/tokens/${token}`)).body;
  expect(data).toMatchObject({ status: 'completed', game_id: gameId });
  const repeat = await fixture.redeem({ code }, gameId, { key: 'killed' });
  expect(repeat).toMatchObject({ status: 200, body: { data: { chat_id: chatId, game_id: gameId } } });
  expect(repeat.headers.get('idempotency-replayed')).toBe('true');
  await proxy.close();
});
