import { expect, test, vi } from 'vitest';
import { ManualClock } from '#kit/clock.ts';
import { Names } from './names.ts';

/** Where something is slow, so that no test waits for long. */
const SLOW_MS = 20;

const forever = () => new Promise<string>(() => undefined);

/** Waits only as long as is said where nothing comes; a machine that stands still is no slow platform. */
function named(load: (key: number) => Promise<string>, waitMs = 60_000) {
  const clock = new ManualClock();
  const asked = vi.fn<typeof load>(load);
  return { names: new Names({ load: asked, freshMs: 60_000, clock, waitMs }), asked, clock };
}

test('each is asked for once while its answer is good', async () => {
  const { names, asked, clock } = named(async (key) => `name ${key}`);
  expect(await names.of([1, 2, 1])).toEqual(
    new Map([
      [1, 'name 1'],
      [2, 'name 2'],
    ]),
  );
  clock.advance(59_999);
  await names.of([1, 2]);
  expect(asked).toHaveBeenCalledTimes(2);
  clock.advance(1);
  await names.of([2]);
  expect(asked).toHaveBeenCalledTimes(3);
});

test('one that fails takes no other along, is served as last known, and asked for again the next time', async () => {
  let isDown = false;
  const { names, asked, clock } = named(async (key) => {
    if (isDown || key === 2) throw new Error('no');
    return `name ${key}`;
  });
  expect(await names.of([1, 2])).toEqual(new Map([[1, 'name 1']]));
  isDown = true;
  clock.advance(60_000);
  expect(await names.of([1, 2, 3])).toEqual(new Map([[1, 'name 1']]));
  expect(asked).toHaveBeenCalledTimes(5);
});

test('a slow platform is waited for once in ten seconds, by a few at a time, and never past the deadline', async () => {
  let isSlow = false;
  const { names, asked, clock } = named((key) => (isSlow ? forever() : Promise.resolve(`name ${key}`)), SLOW_MS);
  await names.of([1]);
  isSlow = true;
  clock.advance(60_000);
  const keys = Array.from({ length: 500 }, (_, index) => index);
  expect(await names.of(keys)).toEqual(new Map([[1, 'name 1']]));
  expect(asked).toHaveBeenCalledTimes(11);
  expect(await names.of(keys)).toEqual(new Map([[1, 'name 1']]));
  expect(asked).toHaveBeenCalledTimes(11);
  isSlow = false;
  clock.advance(10_000);
  expect((await names.of(keys)).size).toBe(500);
});

test('what was slow counts when it comes after all', async () => {
  let answer = (_name: string) => undefined as void;
  const { names } = named(() => new Promise((resolve) => (answer = resolve)), SLOW_MS);
  expect(await names.of([1])).toEqual(new Map());
  answer('late');
  await expect.poll(() => names.of([1])).toEqual(new Map([[1, 'late']]));
});

test('names that were never asked for are not held back by those that are slow', async () => {
  const slow = new Set([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  const answers: (() => void)[] = [];
  const { names, asked, clock } = named(
    (key) =>
      slow.has(key)
        ? new Promise((resolve) => answers.push(() => resolve(`name ${key}`)))
        : Promise.resolve(`name ${key}`),
    SLOW_MS,
  );
  // The first ten are slow, so that the eleventh is not even asked for.
  const keys = Array.from({ length: 11 }, (_, index) => index);
  expect(await names.of(keys)).toEqual(new Map());
  expect(asked).toHaveBeenCalledTimes(10);
  for (const answer of answers) answer();
  await expect.poll(async () => (await names.of(keys)).size).toBe(11);
  // Those ten were asked for once, and not again because they were late.
  expect(asked).toHaveBeenCalledTimes(11);
  expect(clock.now()).toBe(new ManualClock().now());
});

test('lists of all guilds together ask for ten at a time, and take turns', async () => {
  let running = 0;
  let most = 0;
  const { names } = named(async (key) => {
    most = Math.max(most, ++running);
    await new Promise((resolve) => setImmediate(resolve));
    running -= 1;
    return `name ${key}`;
  });
  const first = names.of(Array.from({ length: 40 }, (_, index) => index));
  const second = names.of([1_000]);
  expect(await second).toEqual(new Map([[1_000, 'name 1000']]));
  expect((await first).size).toBe(40);
  expect(most).toBe(10);
});
