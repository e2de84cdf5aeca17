import { Metadata, status } from '@grpc/grpc-js';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { ApiError } from '../errors.ts';
import { fromStatus } from '../grpc/errors.ts';
import { GUILD, LIMITS, OTHER_GUILD, QueueFixture, type Task } from './fixture.ts';
import { QueueStore } from './store.ts';

const fixture = new QueueFixture();
beforeAll(() => fixture.start());
afterAll(() => fixture.stop());
beforeEach(() => fixture.reset());

const fails = (code: ConstructorParameters<typeof ApiError>[0]) => () => {
  throw new ApiError(code);
};
/** As a service does whose keys are not those of this process. */
const rejectsCalls = () => {
  throw fromStatus({ code: status.UNAUTHENTICATED, details: '', metadata: new Metadata() });
};
/** In seconds. */
const YEARS = 100_000_000;
/** Lets time pass, so that whatever waits for a retry or a lease is due. */
const later = () => fixture.time.advance(120_000);
const timesHandled = (what: string) => fixture.handled.filter((each) => each === what).length;

/** Lets time pass until an item has reached a state. */
async function reaches(what: string, state: string): Promise<void> {
  const passing = async () => {
    await later();
    return fixture.state(what);
  };
  await expect.poll(passing).toBe(state);
}

async function metric(name: string): Promise<number> {
  return Number(new RegExp(`^${name} (.+)$`, 'm').exec(await fixture.metrics.text())?.[1]);
}

describe('an ordered queue', () => {
  test('handles the items of each guild in order and one at a time, whichever of three workers takes them', async () => {
    const inFlight = new Map<string, number>();
    const order: Record<string, string[]> = { [GUILD]: [], [OTHER_GUILD]: [] };
    let overlaps = 0;
    const handle = async ({ guildId, data }: { guildId: string; data: Task }) => {
      const count = (inFlight.get(guildId) ?? 0) + 1;
      inFlight.set(guildId, count);
      if (count > 1) overlaps += 1;
      await fixture.database.query('SELECT 1');
      order[guildId]?.push(data.what);
      inFlight.set(guildId, count - 1);
    };
    const workers = [];
    for (let index = 0; index < 3; index++) workers.push(await fixture.startWorker({ handle }));
    const names = Array.from({ length: 20 }, (_, index) => `task ${index}`);
    for (const what of names) {
      await fixture.enqueue(what);
      await fixture.enqueue(what, OTHER_GUILD);
      for (const worker of workers) worker.wake();
    }
    await expect.poll(() => order).toEqual({ [GUILD]: names, [OTHER_GUILD]: names });
    expect(overlaps).toBe(0);
  });

  test('goes on behind an item that always fails once it is a dead letter, and holds up no other guild before', async () => {
    fixture.behaviour.set('poison', fails('INTERNAL'));
    for (const what of ['poison', 'next']) await fixture.enqueue(what);
    await fixture.enqueue('other', OTHER_GUILD);
    await fixture.startWorker();
    await expect.poll(() => fixture.state('other')).toBe('done');
    expect(await fixture.state('next')).toBe('queued');
    await reaches('poison', 'dead');
    await expect.poll(() => fixture.state('next')).toBe('done');
    expect(timesHandled('poison')).toBe(LIMITS.maxAttempts);
    expect(await fixture.task('poison')).toMatchObject({
      attempts: 3,
      leased_until: null,
      finished_at: null,
      last_error: 'INTERNAL: Something went wrong on our side',
    });
    expect(await metric('queue_attempts_total{queue="tasks",outcome="dead"}')).toBe(1);
    await expect.poll(() => metric('queue_items{queue="tasks",state="dead"}')).toBe(1);
  });
});

describe('an item', () => {
  test('that fails is tried again later, and later each time', async () => {
    fixture.behaviour.set('task', fails('INTERNAL'));
    await fixture.enqueue('task');
    await fixture.startWorker({}, { maxAttempts: 50, maxOutageSeconds: YEARS });
    await expect.poll(async () => (await fixture.task('task'))['attempts']).toBe(1);
    await expect
      .poll(async () => {
        await later();
        return (await fixture.task('task'))['attempts'];
      })
      .toBeGreaterThan(6);
    fixture.behaviour.delete('task');
    await reaches('task', 'done');
  });

  test('that is refused for good is a dead letter at once', async () => {
    fixture.behaviour.set('task', fails('INVALID_REQUEST'));
    await fixture.enqueue('task');
    await fixture.startWorker();
    await expect.poll(() => fixture.state('task')).toBe('dead');
    expect(timesHandled('task')).toBe(1);
  });

  test.each([
    ['cannot be reached', fails('UNAVAILABLE'), /^UNAVAIL/],
    ['rejects all calls', rejectsCalls, /^INTERNAL/],
  ])('does not lose attempts while what it needs %s, up to a limit', async (_, failure, error) => {
    fixture.behaviour.set('task', failure);
    await fixture.enqueue('task');
    const worker = await fixture.startWorker({}, { ...LIMITS, maxOutageSeconds: YEARS });
    await expect
      .poll(async () => {
        await later();
        worker.wake();
        return timesHandled('task');
      })
      .toBeGreaterThan(LIMITS.maxAttempts + 1);
    expect(await fixture.task('task')).toMatchObject({
      state: 'queued',
      last_error: expect.stringMatching(error),
    });
    await fixture.time.advance(YEARS * 1000);
    await reaches('task', 'dead');
  });

  test.each(['UNAVAILABLE', 'TIMEOUT'] as const)(
    'that alone fails with %s while others get through is a dead letter after its attempts',
    async (code) => {
      fixture.behaviour.set('poison', fails(code));
      await fixture.enqueue('poison');
      const worker = await fixture.startWorker();
      let count = 0;
      await expect
        .poll(async () => {
          await fixture.enqueue(`fine ${count++}`, OTHER_GUILD);
          await fixture.time.advance(60_000);
          worker.wake();
          return fixture.state('poison');
        })
        .toBe('dead');
      expect(timesHandled('poison')).toBeGreaterThanOrEqual(LIMITS.maxAttempts);
    },
  );

  test('that ends its worker each time is a dead letter after its attempts, and is not handled once more', async () => {
    await fixture.enqueue('task');
    const store = new QueueStore(fixture.database, fixture.definition().table);
    for (let attempt = 1; attempt <= LIMITS.maxAttempts; attempt++) {
      expect(await store.take(GUILD, undefined, 5_000)).toMatchObject({ attempts: attempt });
      await later();
    }
    await fixture.startWorker();
    await expect.poll(() => fixture.state('task')).toBe('dead');
    expect(fixture.handled).toEqual([]);
  });

  test('whose lease took too long to get is not handled: another process could have it before it is done', async () => {
    await fixture.enqueue('task');
    const slow = vi.spyOn(QueueStore.prototype, 'take');
    slow.mockImplementationOnce(async function take(this: QueueStore, ...given) {
      const item = await new QueueStore(fixture.database, fixture.definition().table).take(...given);
      vi.spyOn(performance, 'now').mockReturnValueOnce(performance.now() + 2_001);
      return item;
    });
    await fixture.startWorker();
    await expect
      .poll(async () => (await fixture.task('task'))['last_error'])
      .toBe('TIMEOUT: the database was too slow');
    expect(fixture.handled).toEqual([]);
    expect(await fixture.task('task')).toMatchObject({ state: 'queued', attempts: 0, leased_until: null });
    await reaches('task', 'done');
    slow.mockRestore();
  });

  test('is handled by one of two workers, and by the other once the first has died', async () => {
    await fixture.enqueue('task');
    const store = new QueueStore(fixture.openPool(), fixture.definition().table);
    const dead = await store.take(GUILD, undefined, 5_000);
    await fixture.startWorker();
    await fixture.time.advance(4_000);
    expect(await fixture.state('task')).toBe('queued');
    expect(fixture.handled).toEqual([]);
    await fixture.time.advance(1_001);
    await expect.poll(() => fixture.state('task')).toBe('done');
    // The first comes back to life: it has no say any more.
    if (dead) await store.fail(dead, { ...LIMITS, error: 'INTERNAL', isPermanent: true, counts: true, delayMs: 0 });
    expect(await fixture.state('task')).toBe('done');
  });

  test.each([10_000, -10_000, 3_600_000, -3_600_000])(
    'that one process has leased is not taken over by another whose clock is %i ms off',
    async (step) => {
      await fixture.enqueue('task');
      const holder = new QueueStore(fixture.database, fixture.definition().table);
      const item = await holder.take(GUILD, undefined, 5_000);
      const now = Date.now();
      const stepped = vi.spyOn(Date, 'now').mockReturnValue(now + step);
      const other = new QueueStore(fixture.openPool(), fixture.definition().table);
      expect(await other.heads('', 10)).toEqual([{ guildId: GUILD, isDue: false }]);
      expect(await other.take(GUILD, undefined, 5_000)).toBeUndefined();
      await holder.finish(item as NonNullable<typeof item>);
      stepped.mockRestore();
      expect(await fixture.state('task')).toBe('done');
    },
  );
});

describe('a queue without order', () => {
  const unordered = { ordered: false, concurrency: 3 };

  test('handles every item once, no more at a time than its concurrency', async () => {
    let inFlight = 0;
    let most = 0;
    const seen: string[] = [];
    const handle = async ({ data }: { data: Task }) => {
      most = Math.max(most, ++inFlight);
      await fixture.database.query('SELECT 1');
      seen.push(data.what);
      inFlight -= 1;
    };
    const names = Array.from({ length: 40 }, (_, index) => `task ${index}`);
    for (const what of names) await fixture.enqueue(what);
    for (let index = 0; index < 2; index++) await fixture.startWorker({ ...unordered, handle });
    await expect.poll(() => seen.length).toBe(40);
    expect(seen.toSorted()).toEqual(names.toSorted());
    // Two workers.
    expect(most).toBeLessThanOrEqual(6);
  });

  test('goes on with others while one fails', async () => {
    fixture.behaviour.set('poison', fails('INTERNAL'));
    for (const what of ['poison', 'one', 'two']) await fixture.enqueue(what);
    await fixture.startWorker(unordered);
    await expect.poll(() => Promise.all(['one', 'two'].map((what) => fixture.state(what)))).toEqual(['done', 'done']);
    expect(await fixture.state('poison')).toBe('queued');
  });

  test('extends the lease of what takes longer', async () => {
    const release = Promise.withResolvers<void>();
    fixture.behaviour.set('long', () => release.promise);
    await fixture.enqueue('long');
    const renewing = { ...unordered, renews: true, leaseMs: 400 };
    for (let index = 0; index < 2; index++) await fixture.startWorker(renewing);
    await expect.poll(() => fixture.handled.length).toBe(1);
    const leaseOf = async () => ((await fixture.task('long'))['leased_until'] as Date).getTime();
    const first = await leaseOf();
    await expect.poll(leaseOf).toBeGreaterThan(first + 400);
    expect(fixture.handled).toEqual(['long']);
    release.resolve();
    await expect.poll(() => fixture.state('long')).toBe('done');
  });
});

test('what was enqueued by a transaction that is rolled back is never handled', async () => {
  await fixture.startWorker();
  const work = fixture.database.transaction(async (transaction) => {
    await transaction.query(`INSERT INTO fleet.tasks (guild_id, what) VALUES ($1, 'never')`, [GUILD]);
    throw new ApiError('CONFLICT');
  });
  await expect(work).rejects.toThrow('conflicts');
  await fixture.enqueue('always');
  await expect.poll(() => fixture.handled).toEqual(['always']);
});
