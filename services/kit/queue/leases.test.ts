import { once } from 'node:events';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type AttemptEnd, type ClaimedItem, Interrupted } from './definition.ts';
import { GUILD, QueueFixture, RENEWING, type Task } from './fixture.ts';
import { QueueStore } from './store.ts';

const fixture = new QueueFixture();
beforeAll(() => fixture.start());
afterAll(() => fixture.stop());
beforeEach(() => fixture.reset());

const renewing = { ...RENEWING, ordered: false, leaseMs: 600 };

async function updates(): Promise<{ all: number; hot: number }> {
  await fixture.database.query('SELECT pg_stat_force_next_flush()');
  const [stats] = await fixture.database.query<{ all: number; hot: number }>(
    `SELECT n_tup_upd::int AS all, n_tup_hot_upd::int AS hot FROM pg_stat_user_tables WHERE relname = 'tasks'`,
  );
  return stats ?? { all: 0, hot: 0 };
}

test('renewing a lease is a HOT update', async () => {
  const gate = Promise.withResolvers<void>();
  const before = await updates();
  await fixture.enqueue('long');
  await fixture.startWorker({ ...renewing, handle: () => gate.promise });
  try {
    await expect.poll(async () => (await updates()).all - before.all).toBeGreaterThan(6);
    const after = await updates();
    // The item was taken by an update of the index on `run_at`. Each connection reports its updates when it likes.
    expect(after.all - before.all - (after.hot - before.hot)).toBeLessThanOrEqual(1);
  } finally {
    gate.resolve();
  }
  await expect.poll(() => fixture.state('long')).toBe('done');
});

test('the signal of a handler is aborted when its lease was lost, and its outcome is not recorded', async () => {
  await fixture.enqueue('task');
  const ends: AttemptEnd['outcome'][] = [];
  const started: ClaimedItem<Task>[] = [];
  const handle = async (item: ClaimedItem<Task>) => {
    started.push(item);
    if (started.length === 1) await once(item.signal, 'abort');
  };
  await fixture.startWorker({ ...renewing, handle, settled: (_item, { outcome }) => void ends.push(outcome) });
  await expect.poll(() => started.length).toBe(1);
  // As another process takes it over.
  await fixture.database.query('UPDATE fleet.tasks SET holder = gen_random_uuid()');
  await expect.poll(() => ends).toEqual(['lost']);
  expect(await fixture.state('task')).toBe('queued');
  await expect.poll(() => fixture.state('task')).toBe('done');
  expect(ends).toEqual(['lost', 'done']);
});

test('a handler that stops early as its process ends releases the item: it is due immediately with all attempts', async () => {
  await fixture.enqueue('task');
  const handle = async ({ signal }: ClaimedItem<Task>) => {
    await once(signal, 'abort');
    throw new Interrupted();
  };
  const worker = await fixture.startWorker({ ...renewing, leaseMs: 60_000, handle });
  await expect.poll(async () => (await fixture.task('task'))['attempts']).toBe(1);
  await worker.drain();
  expect(await fixture.task('task')).toMatchObject({
    state: 'queued',
    attempts: 0,
    leased_until: null,
    holder: null,
    later: false,
  });
  await fixture.startWorker(renewing);
  await expect.poll(() => fixture.state('task')).toBe('done');
});

test('an item whose process died is taken over when the renewed lease has ended, not before', async () => {
  await fixture.enqueue('task');
  const store = new QueueStore(fixture.database, RENEWING.table);
  const item = await store.take(GUILD, await idOf('task'), 5_000);
  if (!item) throw new Error('the item could not be taken');
  await fixture.time.advance(4_000);
  expect(await store.renew(item, 5_000)).toBe(true);
  await fixture.time.advance(4_000);
  // The first lease has ended, and with it `run_at` is in the past.
  expect(await store.due('', 10, 10)).toEqual([{ guildId: GUILD, ids: [] }]);
  await fixture.startWorker({ ...RENEWING, ordered: false });
  expect(fixture.handled).toEqual([]);
  await fixture.time.advance(1_001);
  await expect.poll(() => fixture.state('task')).toBe('done');
  expect(await store.renew(item, 5_000)).toBe(false);
  expect(await store.finish(item)).toBe(false);
});

test('what a definition records is in one transaction with the outcome', async () => {
  await fixture.enqueue('task');
  const recorded: AttemptEnd['outcome'][] = [];
  let isBroken = true;
  let failures = 0;
  await fixture.startWorker({
    ...renewing,
    async recorded(transaction, item, { outcome }) {
      await transaction.query(`UPDATE fleet.tasks SET what = 'recorded' WHERE guild_id = $1 AND id = $2::bigint`, [
        item.guildId,
        item.id,
      ]);
      if (isBroken) {
        failures++;
        throw new Error('broken');
      }
      recorded.push(outcome);
    },
  });
  await expect.poll(() => failures).toBeGreaterThan(0);
  expect(await fixture.task('task')).toMatchObject({ state: 'queued', what: 'task' });
  isBroken = false;
  await expect.poll(() => fixture.state('recorded')).toBe('done');
  expect(recorded).toEqual(['done']);
});

test('an attempt whose handler has finished the row itself is done, not lost', async () => {
  await fixture.enqueue('task');
  const ends: AttemptEnd['outcome'][] = [];
  const handle = ({ guildId, id }: ClaimedItem<Task>) =>
    fixture.database.query(
      `UPDATE fleet.tasks SET state = 'done', finished_at = now(), leased_until = NULL WHERE guild_id = $1 AND id = $2`,
      [guildId, id],
    );
  const settled = (_item: ClaimedItem, { outcome }: AttemptEnd) => void ends.push(outcome);
  await fixture.startWorker({ handlerFinishes: true, handle, settled });
  await expect.poll(() => ends).toEqual(['done']);
});

async function idOf(what: string): Promise<string> {
  return String((await fixture.task(what))['id']);
}
