import { expect, test } from 'vitest';
import { ConcurrencyLimit } from './concurrency-limit.ts';

const limitOf = (options: Partial<ConstructorParameters<typeof ConcurrencyLimit>[0]> = {}) =>
  new ConcurrencyLimit({ maxRunning: 2, maxWaitingPerPurpose: 2, maxWaitMs: 60_000, message: 'Too many', ...options });

/** Starts actions that run until the test ends them. */
function actions(limit: ConcurrencyLimit, names: string[]) {
  const started: string[] = [];
  const ends = new Map(names.map((name) => [name, Promise.withResolvers<string>()]));
  const runs = names.map((name) => {
    const run = limit.run(async () => {
      started.push(name);
      return ends.get(name)?.promise;
    });
    run.catch(() => undefined);
    return run;
  });
  return { started, runs, end: (name: string) => ends.get(name)?.resolve(name), ends };
}

test('at most maxRunning actions run concurrently, and the others start in the order of their arrival', async () => {
  const { started, runs, end } = actions(limitOf(), ['a', 'b', 'c', 'd']);
  expect(started).toEqual(['a', 'b']);
  end('b');
  expect(await runs[1]).toBe('b');
  await expect.poll(() => started).toEqual(['a', 'b', 'c']);
  for (const name of ['a', 'c', 'd']) end(name);
  expect(await Promise.all(runs)).toEqual(['a', 'b', 'c', 'd']);
  expect(started).toEqual(['a', 'b', 'c', 'd']);
});

test('the next action starts when the running one fails', async () => {
  const limit = limitOf({ maxRunning: 1 });
  const { runs, ends, end } = actions(limit, ['a', 'b']);
  ends.get('a')?.reject(new Error('gone'));
  await expect(runs[0]).rejects.toThrow('gone');
  end('b');
  expect(await runs[1]).toBe('b');
  expect(await limit.run(async () => 'c')).toBe('c');
});

test('an action is rejected immediately when the queue is full', async () => {
  const { runs, started, end } = actions(limitOf({ maxRunning: 1, maxWaitingPerPurpose: 1 }), ['a', 'b', 'c']);
  await expect(runs[2]).rejects.toMatchObject({ code: 'UNAVAILABLE', message: 'Too many' });
  for (const name of ['a', 'b']) end(name);
  expect(await Promise.all(runs.slice(0, 2))).toEqual(['a', 'b']);
  expect(started).toEqual(['a', 'b']);
});

test('an action that has waited too long is rejected and never started', async () => {
  const limit = limitOf({ maxRunning: 1, maxWaitMs: 5 });
  const { runs, started, end } = actions(limit, ['a', 'b']);
  await expect(runs[1]).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  end('a');
  expect(await runs[0]).toBe('a');
  expect(await limit.run(async () => 'c')).toBe('c');
  expect(started).toEqual(['a']);
});
