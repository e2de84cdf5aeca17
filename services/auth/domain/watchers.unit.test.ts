import { expect, test } from 'vitest';
import { createLog } from '#kit/telemetry/log.ts';
import { Metrics } from '#kit/telemetry/metrics.ts';
import { AuthEvents } from '../telemetry.ts';
import type { KeyChange } from './key.ts';
import { Watchers } from './watchers.ts';

const change = (version: number): KeyChange => ({
  guildId: '900000000000000001',
  number: 1,
  version,
  changedAt: new Date(0),
  hashes: [],
});

/** Watchers over changes and a hearing that the test decides. */
async function setUp() {
  const world = { recent: async (): Promise<KeyChange[]> => [], isHearing: true };
  const log = await createLog({ service: 'auth', level: 'silent' });
  const watchers = new Watchers({
    recent: async function* () {
      yield await world.recent();
    },
    isHearing: () => world.isHearing,
    events: new AuthEvents(new Metrics(), log),
  });
  return { world, watchers };
}

function newWatcher() {
  const gone = new AbortController();
  const told: (number | 'beat')[] = [];
  const watcher = {
    tell: ({ version }: KeyChange) => void told.push(version),
    beat: () => void told.push('beat'),
    waiting: 0,
    signal: gone.signal,
  };
  return { watcher, told, leave: () => gone.abort() };
}

test('what happens while the latest changes are read is told too, and no beat before them', async () => {
  const { world, watchers } = await setUp();
  const reading = Promise.withResolvers<KeyChange[]>();
  world.recent = () => reading.promise;
  const { watcher, told, leave } = newWatcher();
  const watched = watchers.watch(watcher);
  watchers.tell(change(2));
  watchers.beat();
  expect(told).toEqual([2]);
  reading.resolve([change(1)]);
  await expect.poll(() => told).toEqual([2, 1, 'beat']);
  leave();
  await watched;
  watchers.tell(change(3));
  expect(told).toHaveLength(3);
});

test('a watcher is not told a beat while changes are not heard', async () => {
  const { world, watchers } = await setUp();
  world.isHearing = false;
  const { watcher, told, leave } = newWatcher();
  const watched = watchers.watch(watcher);
  world.recent = async () => [change(1)];
  await watchers.sweep();
  watchers.beat();
  expect(told).toEqual([1]);
  leave();
  await watched;
});

test('there are no beats while the latest changes can not be read; the next proof reads them again', async () => {
  const { world, watchers } = await setUp();
  const { watcher, told, leave } = newWatcher();
  const watched = watchers.watch(watcher);
  await expect.poll(() => told).toEqual(['beat']);
  world.recent = () => Promise.reject(new Error('no database'));
  await watchers.lookAgain();
  watchers.beat();
  expect(told).toEqual(['beat']);
  world.recent = async () => [change(4)];
  watchers.beat();
  await expect.poll(() => told).toEqual(['beat', 4]);
  watchers.beat();
  expect(told).toEqual(['beat', 4, 'beat']);
  leave();
  await watched;
});

test('a watcher that does not take what it is told is cut off, the others are not', async () => {
  const { watchers } = await setUp();
  const [slow, quick] = [newWatcher(), newWatcher()];
  const [cutOff, kept] = [watchers.watch(slow.watcher), watchers.watch(quick.watcher)];
  slow.watcher.waiting = 10_001;
  watchers.tell(change(1));
  await cutOff;
  watchers.tell(change(2));
  expect(quick.told.filter((item) => item !== 'beat')).toEqual([1, 2]);
  quick.leave();
  await kept;
});

test('a watcher is refused when the latest changes can not be read', async () => {
  const { world, watchers } = await setUp();
  world.recent = () => Promise.reject(new Error('no database'));
  await expect(watchers.watch(newWatcher().watcher)).rejects.toThrow('no database');
});
