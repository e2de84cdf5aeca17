import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Queryable } from '#kit/postgres/pool.ts';
import { createLog } from '#kit/telemetry/log.ts';
import { Metrics } from '#kit/telemetry/metrics.ts';
import { Backlog } from './domain/backlog.ts';
import { ActivityFixture, newGuild } from './fixture.ts';

const fixture = new ActivityFixture();
beforeAll(() => fixture.start());
afterAll(() => fixture.stop());

async function newBacklog(database: Queryable = fixture.database) {
  const metrics = new Metrics();
  const log = await createLog({ service: 'test', level: 'silent' });
  const backlog = new Backlog({ database, clock: fixture.clock, metrics, log });
  const value = async (name: string, state: string) => {
    const found = (await metrics.registry.getSingleMetric(name)?.get())?.values;
    return found?.find(({ labels }) => labels['state'] === state)?.value;
  };
  /** For each state: the number of commands, the age of the oldest, and the number of expired ones. */
  const seen = async () => {
    await backlog.update();
    const of = (state: string) =>
      Promise.all(
        [
          'activity_unacknowledged_commands',
          'activity_oldest_unacknowledged_command_seconds',
          'activity_commands_expired_total',
        ].map((name) => value(name, state)),
      );
    return { handedOver: await of('handed_over'), waiting: await of('waiting') };
  };
  return { backlog, seen };
}

test('counts unacknowledged and expired commands, and measures the age of the oldest one', async () => {
  const guildId = newGuild();
  const { seen } = await newBacklog();
  expect(await seen()).toEqual({ handedOver: [0, 0, 0], waiting: [0, 0, 0] });
  await fixture.send('a', { guildId, ttlSeconds: 60 });
  await fixture.advance(10_000);
  await fixture.take('a', '', { guildId });
  await fixture.send('b', { guildId, ttlSeconds: 20 });
  const [acked = ''] = await fixture.send('c', { guildId, ttlSeconds: 20 });
  await fixture.advance(5_000);
  expect(await seen()).toEqual({ handedOver: [1, 15, 0], waiting: [2, 5, 0] });
  await fixture.ack('c', acked, {}, { guildId });
  await fixture.advance(15_000);
  expect(await seen()).toEqual({ handedOver: [1, 30, 0], waiting: [0, 0, 1] });
  await fixture.advance(30_000);
  expect(await seen()).toEqual({ handedOver: [0, 0, 1], waiting: [0, 0, 1] });
  expect(await seen()).toEqual({ handedOver: [0, 0, 1], waiting: [0, 0, 1] });
});

test('a command for several servers counts once for each of them, by whether it was handed over to that server', async () => {
  const guildId = newGuild();
  const { seen } = await newBacklog();
  const before = await seen();
  const servers = ['acked', 'handed', 'absent', 'other'];
  for (const server of servers) await fixture.beat(server, {}, { guildId });
  const [id = ''] = (await fixture.enqueue({ guildId, ttlSeconds: 600 })).commandIds;
  await fixture.advance(5_000);
  for (const server of ['acked', 'handed']) await fixture.take(server, '', { guildId });
  await fixture.ack('acked', id, {}, { guildId });
  const added = async () => {
    const after = await seen();
    const difference = (state: 'handedOver' | 'waiting') =>
      after[state].map((value, index) => (index === 1 ? value : Number(value) - Number(before[state][index])));
    return { handedOver: difference('handedOver'), waiting: difference('waiting') };
  };
  expect(await added()).toEqual({ handedOver: [1, 5, 0], waiting: [2, 5, 0] });
  await fixture.advance(595_000);
  expect(await added()).toEqual({ handedOver: [0, 0, 1], waiting: [0, 0, 2] });
});

test('commands that expired while the database was down are counted after it is back', async () => {
  let isDown = false;
  const { seen } = await newBacklog({
    query: (text, values) => (isDown ? Promise.reject(new Error('down')) : fixture.database.query(text, values)),
  });
  const before = await seen();
  await fixture.send('a', { guildId: newGuild(), ttlSeconds: 5 });
  isDown = true;
  await fixture.advance(5_000);
  expect((await seen()).waiting).toEqual(before.waiting);
  isDown = false;
  expect((await seen()).waiting).toEqual([0, 0, 1]);
});

test('a replica exports the metrics from its start', async () => {
  await fixture.send('a', { guildId: newGuild(), ttlSeconds: 600 });
  await fixture.advance(7_000);
  const replica = await fixture.startActivity();
  const name = 'activity_oldest_unacknowledged_command_seconds';
  expect(await fixture.metric(name, '{state="waiting"}', replica)).toBe(7);
  await replica.stop();
});
