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
  /** Of what was handed over, and of what waits: how many, the age of the oldest, how many have expired. */
  const seen = async () => {
    await backlog.look();
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

test('tells how old the oldest command is that nobody acknowledged, and how many have expired without it', async () => {
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

test('what expired while the database was away is counted once it is back', async () => {
  let isAway = false;
  const { seen } = await newBacklog({
    query: (text, values) => (isAway ? Promise.reject(new Error('away')) : fixture.database.query(text, values)),
  });
  const before = await seen();
  await fixture.send('a', { guildId: newGuild(), ttlSeconds: 5 });
  isAway = true;
  await fixture.advance(5_000);
  expect((await seen()).waiting).toEqual(before.waiting);
  isAway = false;
  expect((await seen()).waiting).toEqual([0, 0, 1]);
});

test('a replica shows it from its start on', async () => {
  await fixture.send('a', { guildId: newGuild(), ttlSeconds: 600 });
  await fixture.advance(7_000);
  const replica = await fixture.startActivity();
  const name = 'activity_oldest_unacknowledged_command_seconds';
  expect(await fixture.metric(name, '{state="waiting"}', replica)).toBe(7);
  await replica.stop();
});
