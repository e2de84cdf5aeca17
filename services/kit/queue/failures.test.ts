import { Metadata, status } from '@grpc/grpc-js';
import { describe } from 'vitest';
import { WAITING_TOGETHER } from '#test/measure/bounds.ts';
import { ApiError } from '../errors.ts';
import { fromStatus } from '../grpc/errors.ts';
import { queueAdminMethods } from './admin.ts';
import { GUILD, LIMITS, OTHER_GUILD, type QueueFixture, testWithQueue as test } from './fixture.ts';

const fails = (code: ConstructorParameters<typeof ApiError>[0]) => () => {
  throw new ApiError(code);
};
/** Rejects the call as a service does whose keys differ from those of this process. */
const rejectsCalls = () => {
  throw fromStatus({ code: status.UNAUTHENTICATED, details: '', metadata: new Metadata() });
};
/** In seconds. */
const YEARS = 100_000_000;
const timesHandled = (what: string, { handled }: QueueFixture) => handled.filter((each) => each === what).length;

async function metric({ metrics }: QueueFixture, name: string): Promise<number> {
  return Number(new RegExp(`^${name} (.+)$`, 'm').exec(await metrics.text())?.[1]);
}

describe('while items fail', WAITING_TOGETHER, () => {
  test('an ordered queue continues after an item that always fails once it is a dead letter, and never delays other guilds for it', async ({
    fixture,
    expect,
  }) => {
    fixture.behaviour.set('poison', fails('INTERNAL'));
    for (const what of ['poison', 'next']) await fixture.enqueue(what);
    await fixture.enqueue('other', OTHER_GUILD);
    await fixture.startWorker();
    await expect.poll(() => fixture.state('other')).toBe('done');
    expect(await fixture.state('next')).toBe('queued');
    await expect
      .poll(async () => {
        await fixture.pass(120_000);
        return fixture.state('poison');
      })
      .toBe('dead');
    await expect.poll(() => fixture.state('next')).toBe('done');
    expect(timesHandled('poison', fixture)).toBe(LIMITS.maxAttempts);
    expect(await fixture.task('poison')).toMatchObject({
      attempts: 3,
      leased_until: null,
      finished_at: null,
      last_error: 'INTERNAL: Something went wrong on our side',
    });
    expect(await metric(fixture, 'queue_attempts_total{queue="tasks",outcome="dead"}')).toBe(1);
    await expect.poll(() => metric(fixture, 'queue_items{queue="tasks",state="dead"}')).toBe(1);
  });

  test.for([
    ['cannot be reached', fails('UNAVAILABLE'), /^UNAVAIL/],
    ['rejects all calls', rejectsCalls, /^INTERNAL/],
  ] as const)(
    'an item does not lose attempts while its dependency %s, up to a limit',
    async ([, failure, error], { fixture, expect }) => {
      fixture.behaviour.set('task', failure);
      await fixture.enqueue('task');
      await fixture.startWorker({}, { ...LIMITS, maxOutageSeconds: YEARS });
      await expect
        .poll(async () => {
          await fixture.pass(120_000);
          return timesHandled('task', fixture);
        })
        .toBeGreaterThan(LIMITS.maxAttempts + 1);
      expect(await fixture.task('task')).toMatchObject({
        state: 'queued',
        last_error: expect.stringMatching(error),
      });
      await fixture.time.advance(YEARS * 1000);
      await expect
        .poll(async () => {
          await fixture.pass(120_000);
          return fixture.state('task');
        })
        .toBe('dead');
    },
  );

  test('a dead letter raises the metric of the alert until an operator retries or skips it', async ({
    fixture,
    expect,
  }) => {
    const dead = 'queue_items{queue="tasks",state="dead"}';
    const { database, log } = fixture;
    const worker = await fixture.startWorker({ ordered: false });
    const definitions = [fixture.definition({ ordered: false })];
    const operator = queueAdminMethods({ database, definitions, log, wake: () => worker.wake() });
    for (const what of ['one', 'two']) fixture.behaviour.set(what, fails('INVALID_REQUEST'));
    const [one, two] = [await fixture.enqueue('one'), await fixture.enqueue('two')];
    await expect.poll(() => metric(fixture, dead)).toBe(2);
    fixture.behaviour.clear();
    await operator.retryQueueItems({ queue: 'tasks', guildId: GUILD, id: one });
    await operator.skipQueueItem({ queue: 'tasks', guildId: GUILD, id: two });
    await expect
      .poll(() => Promise.all(['one', 'two'].map((what) => fixture.state(what))))
      .toEqual(['done', 'skipped']);
    await expect.poll(() => metric(fixture, dead)).toBe(0);
  });
});
