import { expect, test, vi } from 'vitest';
import { ManualClock } from '#kit/clock.ts';
import { Names } from './names.ts';

const forever = () => new Promise<string>(() => undefined);

function named(load: (key: number) => Promise<string>, clock = new ManualClock()) {
  const asked = vi.fn<typeof load>(load);
  return { names: new Names({ load: asked, freshMs: 60_000, clock, waitMs: 20 }), asked, clock };
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
  const { names, asked, clock } = named((key) => (isSlow ? forever() : Promise.resolve(`name ${key}`)));
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
  const { names } = named(() => new Promise((resolve) => (answer = resolve)));
  expect(await names.of([1])).toEqual(new Map());
  answer('late');
  await vi.waitFor(async () => expect(await names.of([1])).toEqual(new Map([[1, 'late']])));
});
