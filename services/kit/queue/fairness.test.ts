import { setTimeout as sleep } from 'node:timers/promises';
import { describe } from 'vitest';
import { WAITING_TOGETHER } from '#test/measure/bounds.ts';
import { ApiError } from '../errors.ts';
import { ALONE, GUILD, OTHER_GUILD, type Task, testWithQueue as test } from './fixture.ts';

const THIRD_GUILD = '900000000000000003';

/** Counts the items in flight, of all guilds and of each. */
class Meter {
  max = 0;
  readonly maxOfGuild = new Map<string, number>();
  readonly handled: string[] = [];
  #now = 0;
  readonly #ofGuild = new Map<string, number>();

  handle = async ({ guildId, data }: { guildId: string; data: Task }, work: () => Promise<unknown>) => {
    const ofGuild = (this.#ofGuild.get(guildId) ?? 0) + 1;
    this.#ofGuild.set(guildId, ofGuild);
    this.max = Math.max(this.max, ++this.#now);
    this.maxOfGuild.set(guildId, Math.max(this.maxOfGuild.get(guildId) ?? 0, ofGuild));
    await work();
    this.handled.push(`${guildId} ${data.what}`);
    this.#now -= 1;
    this.#ofGuild.set(guildId, (this.#ofGuild.get(guildId) ?? 1) - 1);
  };
}

describe.each([
  ['an ordered queue', { ordered: true }],
  ['a queue without order', { ordered: false }],
  ['a queue with a maximum for each guild', { ordered: false, maxPerGuild: 2 }],
])('%s', WAITING_TOGETHER, (_name, kind) => {
  test('handles the one item of a guild while another guild has 10,000', async ({ fixture, expect }) => {
    await fixture.enqueueMany(10_000);
    const meter = new Meter();
    const handle = (item: { guildId: string; data: Task }) =>
      meter.handle(item, () => fixture.database.query('SELECT 1'));
    const worker = await fixture.startWorker({ ...kind, handle });
    await expect.poll(() => meter.handled.length).toBeGreaterThan(20);
    await fixture.enqueue('single', OTHER_GUILD);
    const before = meter.handled.length;
    worker.wake();
    await expect.poll(() => fixture.state('single'), { interval: 10 }).toBe('done');
    // At most the items in flight and those of one page were before it.
    expect(meter.handled.indexOf(`${OTHER_GUILD} single`) - before).toBeLessThan(500);
    expect(meter.handled.length).toBeLessThan(5_000);
  }, 60_000);

  test('handles the one item of a guild while as many guilds as it has slots have 3,000 each', async ({
    fixture,
    expect,
  }) => {
    for (const guildId of [GUILD, OTHER_GUILD]) await fixture.enqueueMany(3_000, guildId);
    await fixture.enqueue('single', THIRD_GUILD);
    const meter = new Meter();
    const handle = (item: { guildId: string; data: Task }) => meter.handle(item, async () => undefined);
    await fixture.startWorker({ ...kind, concurrency: 2, handle });
    await expect.poll(() => fixture.state('single'), { interval: 10, timeout: 30_000 }).toBe('done');
    expect(meter.handled.indexOf(`${THIRD_GUILD} single`)).toBeLessThan(500);
  }, 60_000);

  test('handles the item of a guild while what it needs is down for more guilds than it has slots', async ({
    fixture,
    expect,
  }) => {
    const failing = Array.from({ length: 10 }, (_, index) => String(BigInt(GUILD) + BigInt(index)));
    for (const guildId of failing) await fixture.enqueue('fails', guildId);
    await fixture.enqueue('single', String(BigInt(GUILD) + 100n));
    const handle = async ({ data }: { data: Task }) => {
      if (data.what === 'single') return;
      await sleep(50);
      throw new ApiError('UNAVAILABLE');
    };
    await fixture.startWorker({ ...kind, concurrency: 2, handle });
    await expect.poll(() => fixture.state('single'), { timeout: 30_000 }).toBe('done');
  }, 60_000);
});

describe('the maximum of a guild', WAITING_TOGETHER, () => {
  test('no guild has more items in flight in one process than its maximum', async ({ fixture, expect }) => {
    for (const guildId of [GUILD, OTHER_GUILD, THIRD_GUILD]) await fixture.enqueueMany(20, guildId);
    const meter = new Meter();
    const handle = (item: { guildId: string; data: Task }) =>
      meter.handle(item, () => fixture.database.query('SELECT pg_sleep(0.01)'));
    await fixture.startWorker({ ordered: false, concurrency: 4, maxPerGuild: 2, handle });
    await expect.poll(() => meter.handled.length).toBe(60);
    expect([...meter.maxOfGuild.values()].every((max) => max <= 2)).toBe(true);
    expect(meter.max).toBeLessThanOrEqual(4);
    expect(meter.max).toBeGreaterThan(2);
  });

  test('with oneLeasedPerGuild three processes never have two items of a guild in flight', async ({
    fixture,
    expect,
  }) => {
    for (const guildId of [GUILD, OTHER_GUILD]) await fixture.enqueueMany(15, guildId, 'alone');
    const meter = new Meter();
    const handle = (item: { guildId: string; data: Task }) =>
      meter.handle(item, () => fixture.database.query('SELECT pg_sleep(0.01)'));
    for (let index = 0; index < 3; index++) {
      await fixture.startWorker({ ...ALONE, ordered: false, maxPerGuild: 1, handle }, undefined, fixture.openPool());
    }
    await expect.poll(() => meter.handled.length, { timeout: 60_000 }).toBe(30);
    expect(new Set(meter.handled).size).toBe(30);
    expect([...meter.maxOfGuild.values()]).toEqual([1, 1]);
  }, 90_000);
});
