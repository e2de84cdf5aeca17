import { performance } from 'node:perf_hooks';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { systemClock } from '#kit/clock.ts';
import { CommandAdminServiceService } from '#proto/gen/guild/activity/v1/admin.ts';
import { amount, withinBound } from '../measure/bounds.ts';
import { printFigure } from '../measure/figures.ts';
import { connect } from '../network/grpc.ts';
import { GUILD, type Network, startNetwork } from '../system/system.ts';

const TIMES = amount(10, 100);
const POLLS = amount(50, 250);

let network: Network;
/** Each test has its own key, because a key may send 300 polls a minute. */
let key: string;
beforeAll(async () => {
  network = await startNetwork();
});
beforeEach(async () => {
  key = (await network.createKey()).secret;
});
afterAll(() => network.stop());

const poll = (server: string) =>
  network.call(`/game/servers/${server}/commands?wait=25`, { key, headers: { 'x-guild-id': GUILD } });

async function openPolls(): Promise<number> {
  const metrics = await (await fetch(`http://${network.address('activity', 'admin')}/metrics`)).text();
  return Number(/^activity_open_polls (\d+)$/m.exec(metrics)?.[1]);
}

test('a waiting poll gets its command through gateway and service within 200 ms', async () => {
  const address = network.address('activity', 'grpc');
  const { client, close } = connect(CommandAdminServiceService, 'activity', address, systemClock, [
    network.secrets.admin,
  ]);
  const delays: number[] = [];
  for (let count = 0; count < TIMES; count++) {
    const woken = poll('wakes');
    await expect.poll(openPolls).toBe(1);
    const servers = { $case: 'serverId' as const, value: 'wakes' };
    await client.enqueueCommands({ guildId: GUILD, servers, type: 'message', payload: '', actor: 'ada' });
    const sentAt = performance.now();
    expect((await woken).json.data.commands).toHaveLength(1);
    delays.push(performance.now() - sentAt);
  }
  close();
  delays.sort((a, b) => a - b);
  printFigure(`woken through gateway and service, median of ${TIMES}, in ms`, delays[TIMES / 2] ?? 0);
  withinBound(`woken through gateway and service, slowest of ${TIMES}`, delays.at(-1) ?? 0, 200);
});

test('a draining gateway ends all waiting polls long before its shutdown timeout', async () => {
  // The key must be cached, because one address may not have this many concurrent key lookups.
  expect((await network.call('/whoami', { key })).status).toBe(200);
  const polls = Array.from({ length: POLLS }, (_, n) => poll(`s${n}`));
  await expect.poll(openPolls).toBe(POLLS);
  const started = performance.now();
  const stopped = network.services.get('gateway')?.stop();
  const responses = await Promise.all(polls);
  withinBound(`${POLLS} waiting polls are ended by a gateway that drains`, performance.now() - started, 5_000);
  expect(new Set(responses.map(({ status, json }) => `${status} ${json.data.commands.length}`))).toEqual(
    new Set(['200 0']),
  );
  await stopped;
  withinBound('a gateway with waiting polls has stopped', performance.now() - started, 10_000);
  await expect.poll(openPolls, { timeout: 10_000 }).toBe(0);
});
