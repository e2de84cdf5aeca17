import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { requestContext } from '../context.ts';
import { ApiError } from '../errors.ts';
import { recordedSpan, traceHeaders } from '../telemetry/tracing/current-span.ts';
import { Span } from '../telemetry/tracing/span.ts';
import { GUILD, LIMITS, OTHER_GUILD, QueueFixture, RENEWING, type Task } from './fixture.ts';
import { QueueStore } from './store.ts';

const fixture = new QueueFixture();
beforeAll(() => fixture.start());
afterAll(() => fixture.stop());
beforeEach(() => fixture.reset());

const fails = (code: ConstructorParameters<typeof ApiError>[0]) => () => {
  throw new ApiError(code);
};
/** In seconds. */
const YEARS = 100_000_000;
/** Moves the clock, so that items that wait for a retry or the end of a lease are due. */
const later = () => fixture.pass(120_000);
const timesHandled = (what: string) => fixture.handled.filter((each) => each === what).length;

/** Moves the clock on until an item has reached a state. */
async function reaches(what: string, state: string): Promise<void> {
  const passing = async () => {
    await later();
    return fixture.state(what);
  };
  await expect.poll(passing).toBe(state);
}

describe('an ordered queue', () => {
  test('handles the items of each guild in order and one at a time, also with three workers', async () => {
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
});

describe('an item', () => {
  test('is handled without the trace of the request that woke the queue, also while that request is handled', async () => {
    const names: string[] = [];
    const recorder = { record: ({ name }: { name: string }) => void names.push(name), recordUnsampledError: () => {} };
    const ids = { traceId: '1'.repeat(32), spanId: '2'.repeat(16), parentSpanId: undefined, traceState: undefined };
    const span = new Span({ recorder, kind: 'server', ids, requestId: undefined, isSampled: true, isRoot: true });
    const seen: unknown[] = [];
    const worker = await fixture.startWorker({
      handle: async () => {
        await fixture.database.query('SELECT 1');
        seen.push(recordedSpan(), traceHeaders());
      },
    });
    await requestContext.run({ requestId: 'request', route: 'x', span }, async () => {
      await fixture.enqueue('task');
      names.length = 0;
      worker.wake();
      await expect.poll(() => seen).toEqual([undefined, []]);
    });
    expect(names).toEqual([]);
    expect(span.isRecording).toBe(true);
  });

  test('that fails is retried with growing delays', async () => {
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

  test('that is rejected permanently becomes a dead letter immediately', async () => {
    fixture.behaviour.set('task', fails('INVALID_REQUEST'));
    await fixture.enqueue('task');
    await fixture.startWorker();
    await expect.poll(() => fixture.state('task')).toBe('dead');
    expect(timesHandled('task')).toBe(1);
  });

  test.each(['UNAVAILABLE', 'TIMEOUT'] as const)(
    'that fails with %s while others succeed becomes a dead letter after its attempts',
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

  test('that ends its worker each time becomes a dead letter after its attempts, and is not handled again', async () => {
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

  test('is not handled if the claim took so long that its lease could end before the handler', async () => {
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

  test('is handled by a second worker when the first one has died and its lease has ended', async () => {
    await fixture.enqueue('task');
    const store = new QueueStore(fixture.openPool(), fixture.definition().table);
    const dead = await store.take(GUILD, undefined, 5_000);
    await fixture.startWorker();
    await fixture.time.advance(4_000);
    expect(await fixture.state('task')).toBe('queued');
    expect(fixture.handled).toEqual([]);
    await fixture.time.advance(1_001);
    await expect.poll(() => fixture.state('task')).toBe('done');
    // When the first worker returns, it cannot record an outcome any more.
    if (dead) await store.fail(dead, { ...LIMITS, error: 'INTERNAL', isPermanent: true, counts: true, delayMs: 0 });
    expect(await fixture.state('task')).toBe('done');
  });

  test.each([10_000, -10_000, 3_600_000, -3_600_000])(
    'that one process has leased is not taken over by another whose clock is off by %i ms',
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
    let max = 0;
    const seen: string[] = [];
    const handle = async ({ data }: { data: Task }) => {
      max = Math.max(max, ++inFlight);
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
    expect(max).toBeLessThanOrEqual(6);
  });

  test('handles other items while one fails', async () => {
    fixture.behaviour.set('poison', fails('INTERNAL'));
    for (const what of ['poison', 'one', 'two']) await fixture.enqueue(what);
    await fixture.startWorker(unordered);
    await expect.poll(() => Promise.all(['one', 'two'].map((what) => fixture.state(what)))).toEqual(['done', 'done']);
    expect(await fixture.state('poison')).toBe('queued');
  });

  test('renews the lease of an item that takes longer', async () => {
    const release = Promise.withResolvers<void>();
    fixture.behaviour.set('long', () => release.promise);
    await fixture.enqueue('long');
    const renewing = { ...unordered, ...RENEWING, leaseMs: 600 };
    for (let index = 0; index < 2; index++) await fixture.startWorker(renewing);
    await expect.poll(() => fixture.handled.length).toBe(1);
    const leaseOf = async () => ((await fixture.task('long'))['leased_until'] as Date).getTime();
    const first = await leaseOf();
    await expect.poll(leaseOf).toBeGreaterThan(first + 600);
    expect(fixture.handled).toEqual(['long']);
    release.resolve();
    await expect.poll(() => fixture.state('long')).toBe('done');
  });
});

test('an item of a transaction that is rolled back is never handled', async () => {
  await fixture.startWorker();
  const work = fixture.database.transaction(async (transaction) => {
    await transaction.query(`INSERT INTO fleet.tasks (guild_id, what) VALUES ($1, 'never')`, [GUILD]);
    throw new ApiError('CONFLICT');
  });
  await expect(work).rejects.toThrow('conflicts');
  await fixture.enqueue('always');
  await expect.poll(() => fixture.handled).toEqual(['always']);
});

test('two workers that want the same items handle each one once', async () => {
  await fixture.enqueueMany(300);
  const own = { ordered: false, concurrency: 8 };
  await Promise.all([0, 1].map(() => fixture.startWorker(own, undefined, fixture.openPool())));
  await expect.poll(() => fixture.handled.length).toBe(300);
  await expect
    .poll(async () => (await fixture.database.query(`SELECT 1 FROM fleet.tasks WHERE state <> 'done'`)).length)
    .toBe(0);
  expect(new Set(fixture.handled).size).toBe(300);
  expect(fixture.handled).toHaveLength(300);
});
