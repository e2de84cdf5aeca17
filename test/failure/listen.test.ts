import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { systemClock } from '#kit/clock.ts';
import type { RunningService } from '#kit/service/service.ts';
import { CommandAdminServiceService } from '#proto/gen/guild/activity/v1/admin.ts';
import { withinBound } from '../measure/bounds.ts';
import { connect } from '../network/grpc.ts';
import { PATIENCE } from '../patience.ts';
import { callService } from '../system/signed-calls.ts';
import { GUILD } from '../system/system.ts';
import { expectNothingUnhandled } from './faults.ts';
import { FaultyNetwork } from './faulty-network.ts';

const SERVER = 'server-1';
const PLAYER = 7001;

expectNothingUnhandled();

const system = new FaultyNetwork();
let key: string;
/** Replicas that the gateway does not use; changes through them must invalidate the caches of those that it uses. */
let others: Record<'moderation' | 'activity', RunningService>;

beforeAll(async () => {
  const network = (await system.start()).network;
  key = (await network.createKey()).secret;
  await receiving('moderation', 'activity');
  others = { moderation: await network.startOne('moderation'), activity: await network.startOne('activity') };
});
afterAll(() => system.stop());

const admins = new Map<string, string>();

/** Waits until the replica that the gateway uses receives its notifications. */
async function receiving(...names: string[]): Promise<void> {
  for (const name of names) {
    if (!admins.has(name)) admins.set(name, system.network.address(name, 'admin'));
    await vi.waitFor(async () => {
      const metrics = await (await fetch(`http://${admins.get(name)}/metrics`)).text();
      expect(metrics).toMatch(/^listener_receiving\{.*\} 1$/m);
    }, PATIENCE);
  }
}

const get = (path: string) => system.network.call(path, { key, headers: { 'x-guild-id': GUILD } });
const isBanned = async () => (await get(`/moderation/${GUILD}/ban-status/${PLAYER}`)).json.data.banned;

async function decide(action: string): Promise<void> {
  const service = { address: others.moderation.addresses.http ?? '', audience: 'moderation' };
  const body = { game_id: PLAYER, ...(action === 'ban' && { reason: 'Cheats' }) };
  const request = { method: 'POST', path: `/moderation/${GUILD}/game/${action}`, body };
  const secrets = [system.network.secrets.internal];
  expect((await callService({ ...service, secrets }, { guildId: GUILD }, request)).status).toBeLessThan(300);
}

test('with a half-open connection for notifications a cached ban status is stale only briefly', async () => {
  expect(await isBanned()).toBe(false);
  await system.inflict('listen', 'deaf');
  await decide('ban');
  const started = performance.now();
  await expect.poll(isBanned, { interval: 20 }).toBe(true);
  withinBound('a ban shows in a replica that has become deaf', performance.now() - started, 2_500);
  // It has reconnected.
  await receiving('moderation');
  expect(await isBanned()).toBe(true);
  await decide('unban');
  await expect.poll(isBanned, { timeout: 5_000, interval: 20 }).toBe(false);
});

/** Waits until the replica that the gateway uses receives changes over Redis. */
async function overRedis(): Promise<void> {
  await vi.waitFor(async () => {
    const metrics = await (await fetch(`http://${admins.get('moderation')}/metrics`)).text();
    expect(metrics).toMatch(/^change_feed_receiving\{.*over="redis"\} 1$/m);
  }, PATIENCE);
}

test.each(['down', 'slow', 'reset', 'deaf'] as const)(
  'with Redis %s a cached ban status is stale only briefly, and changes arrive over Redis again afterwards',
  async (fault) => {
    await overRedis();
    expect(await isBanned()).toBe(false);
    await system.inflict('redis', fault);
    await decide('ban');
    const started = performance.now();
    await expect.poll(isBanned, { interval: 20 }).toBe(true);
    withinBound(`a ban shows while Redis is ${fault}`, performance.now() - started, 2_500);
    await system.restore('redis', fault);
    await overRedis();
    expect(await isBanned()).toBe(true);
    await decide('unban');
    await expect.poll(isBanned, { timeout: 5_000, interval: 20 }).toBe(false);
  },
);

test('with a half-open connection for notifications waiting polls still get their response', async () => {
  await receiving('activity');
  const poll = get(`/game/servers/${SERVER}/commands?wait=25`);
  const metrics = async () => (await fetch(`http://${admins.get('activity')}/metrics`)).text();
  await expect.poll(metrics).toMatch(/^activity_open_polls 1$/m);
  await system.inflict('listen', 'deaf');
  const { network } = system;
  const address = others.activity.addresses.grpc ?? '';
  const { client, close } = connect(CommandAdminServiceService, 'activity', address, systemClock, [
    network.secrets.admin,
  ]);
  const started = performance.now();
  const command = { type: 'kick', target: { gameId: PLAYER }, payload: '{}', actor: 'test' };
  const servers = { $case: 'serverId' as const, value: SERVER };
  await client.enqueueCommands({ guildId: GUILD, servers, ...command }).finally(close);
  const { status, json } = await poll;
  withinBound('a poll is answered though nobody was notified', performance.now() - started, 5_500);
  expect([status, json.data.commands.length]).toEqual([200, 1]);
});
