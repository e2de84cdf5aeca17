import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { ApiError } from '../errors.ts';
import type { Queryable } from '../postgres/pool.ts';
import { queueAdminMethods } from './admin.ts';
import { GUILD, OTHER_GUILD, QueueFixture } from './fixture.ts';
import { QueueStore } from './store.ts';

const fixture = new QueueFixture();
let skipped: string[];
let methods: ReturnType<typeof queueAdminMethods>;
let store: QueueStore;

beforeAll(async () => {
  await fixture.start();
  const definition = fixture.definition({
    skipped: async (transaction: Queryable, { id }) => {
      skipped.push(id);
      // In the same transaction: an error here undoes the skip.
      const [row] = await transaction.query<{ state: string; what: string }>(
        'SELECT state, what FROM fleet.tasks WHERE guild_id = $1 AND id = $2::bigint',
        [GUILD, id],
      );
      if (row?.what === 'bound') throw new ApiError('CONFLICT');
    },
  });
  const { database, log } = fixture;
  methods = queueAdminMethods({ database, definitions: [definition], log, wake: () => undefined });
  store = new QueueStore(database, definition.table);
});
afterAll(() => fixture.stop());
beforeEach(async () => {
  skipped = [];
  await fixture.reset();
});

const everything = { queue: '', state: '' as const, limit: 100, position: '' };
const kill = (what: string) =>
  fixture.database.query(`UPDATE fleet.tasks SET state = 'dead', attempts = 3, last_error = 'E' WHERE what = $1`, [
    what,
  ]);

describe('the list', () => {
  test('has waiting items, items in flight and dead letters, page by page, and no done items', async () => {
    for (let index = 0; index < 7; index++) await fixture.enqueue(`task ${index}`, index % 2 ? GUILD : OTHER_GUILD);
    await kill('task 3');
    await fixture.database.query(`UPDATE fleet.tasks SET state = 'done', finished_at = now() WHERE what = 'task 5'`);
    await store.take(GUILD, undefined, 5_000);
    const found = [];
    for (let position: string | undefined = ''; position !== undefined; ) {
      const page = await methods.listQueueItems({ ...everything, limit: 2, position });
      expect(page.items.length).toBeLessThanOrEqual(2);
      found.push(...page.items);
      position = page.nextPosition || undefined;
    }
    expect(found.map(({ guildId, state }) => [guildId, state])).toEqual([
      [GUILD, 'leased'],
      [GUILD, 'dead'],
      ...Array.from({ length: 4 }, () => [OTHER_GUILD, 'queued']),
    ]);
    expect(found[1]).toEqual({
      queue: 'tasks',
      guildId: GUILD,
      id: expect.stringMatching(/^\d+$/),
      state: 'dead',
      attempts: 3,
      runAt: expect.any(Number),
      queuedAt: expect.any(Number),
      lastError: 'E',
    });
  });

  test('is filtered by guild and state', async () => {
    for (const guildId of [GUILD, OTHER_GUILD]) await fixture.enqueue(`of ${guildId}`, guildId);
    await kill(`of ${GUILD}`);
    const count = async (filter: object) => (await methods.listQueueItems({ ...everything, ...filter })).items.length;
    expect(await count({ state: 'dead' })).toBe(1);
    expect(await count({ state: 'queued' })).toBe(1);
    expect(await count({ guildId: GUILD, state: 'queued' })).toBe(0);
  });

  test('rejects an unknown queue, state, limit or position', async () => {
    await expect(methods.listQueueItems({ ...everything, queue: 'boats' })).rejects.toMatchObject({
      code: 'NOT_FOUND',
    });
    for (const wrong of [{ state: 'done' }, { limit: 0 }, { limit: 1_001 }, { position: 'x' }]) {
      const request = methods.listQueueItems({ ...everything, ...wrong });
      await expect(request).rejects.toMatchObject({ code: 'INVALID_REQUEST' });
    }
  });

  test('rejects what is no guild ID, such as a number above 64 bits', async () => {
    const message = 'request.guildId must be a guild ID: a string of 17 to 20 digits';
    for (const guildId of ['5', '18446744073709551616']) {
      const results = await Promise.allSettled([
        methods.listQueueItems({ ...everything, guildId }),
        methods.retryQueueItems({ queue: 'tasks', guildId }),
        methods.skipQueueItem({ queue: 'tasks', guildId, id: '1' }),
      ]);
      expect(results).toMatchObject(results.map(() => ({ reason: { code: 'INVALID_REQUEST', message } })));
    }
  });
});

describe('retry', () => {
  test('queues a dead letter with all of its attempts, due when the attempt in flight of its guild has ended', async () => {
    const id = await fixture.enqueue('dead');
    await kill('dead');
    await fixture.enqueue('next');
    const next = await store.take(GUILD, undefined, 5_000);
    expect(await methods.retryQueueItems({ queue: 'tasks', guildId: GUILD, id })).toEqual({
      retried: 1,
      isMore: false,
      startedAtMs: expect.any(Number),
    });
    expect(await fixture.task('dead')).toMatchObject({ state: 'queued', attempts: 0 });
    // It is the head now, and the other item keeps its lease: they are never handled concurrently.
    expect(await store.take(GUILD, undefined, 5_000)).toBeUndefined();
    await store.finish(next as NonNullable<typeof next>);
    await fixture.time.advance(5_001);
    expect(await store.take(GUILD, undefined, 5_000)).toMatchObject({ id, attempts: 1, data: { what: 'dead' } });
  });

  test('of all dead letters does not change waiting items', async () => {
    for (const [what, guildId] of [
      ['a', GUILD],
      ['b', GUILD],
      ['c', OTHER_GUILD],
    ] as const) {
      await fixture.enqueue(what, guildId);
      await kill(what);
    }
    await fixture.enqueue('waiting');
    expect(await methods.retryQueueItems({ queue: 'tasks', guildId: OTHER_GUILD })).toMatchObject({ retried: 1 });
    expect(await methods.retryQueueItems({ queue: 'tasks' })).toMatchObject({ retried: 2 });
    expect(await fixture.task('waiting')).toMatchObject({ attempts: 0, later: false });
  });

  test('of all dead letters includes one of the same millisecond', async () => {
    const { time } = fixture;
    await time.stopAt(1_800_000_000_000.5);
    onTestFinished(() => time.run());
    await fixture.enqueue('dead');
    await kill('dead');
    expect(await methods.retryQueueItems({ queue: 'tasks' })).toMatchObject({ retried: 1 });
  });

  test('rejects an item that is in flight, done or does not exist', async () => {
    const id = await fixture.enqueue('task');
    const item = await store.take(GUILD, undefined, 5_000);
    const retry = (which: string) => methods.retryQueueItems({ queue: 'tasks', guildId: GUILD, id: which });
    await expect(retry(id)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await store.finish(item as NonNullable<typeof item>);
    for (const which of [id, '999999', 'x']) await expect(retry(which)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await expect(methods.retryQueueItems({ queue: 'tasks', id })).rejects.toMatchObject({ code: 'INVALID_REQUEST' });
  });
});

describe('skip', () => {
  const skip = (id: string) => methods.skipQueueItem({ queue: 'tasks', guildId: GUILD, id });

  test('discards a dead letter or a waiting item, and calls the service in the same transaction', async () => {
    const [dead, waiting, bound] = [
      await fixture.enqueue('dead'),
      await fixture.enqueue('waiting'),
      await fixture.enqueue('bound'),
    ];
    await kill('dead');
    await skip(dead);
    await skip(waiting);
    await expect(skip(bound)).rejects.toMatchObject({ code: 'CONFLICT' });
    expect(await Promise.all(['dead', 'waiting', 'bound'].map((what) => fixture.state(what)))).toEqual([
      'skipped',
      'skipped',
      'queued',
    ]);
    expect(skipped).toEqual([dead, waiting, bound]);
    expect((await fixture.task('dead'))['finished_at']).toBeInstanceOf(Date);
  });

  test('rejects an item that is in flight or does not exist', async () => {
    const id = await fixture.enqueue('task');
    await store.take(GUILD, undefined, 5_000);
    for (const which of [id, '999999', 'x']) await expect(skip(which)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    expect(skipped).toEqual([]);
  });
});
