import { expect, test } from 'vitest';
import { Gate } from './concurrency-limit.ts';

const gateOf = (options: Partial<ConstructorParameters<typeof Gate>[0]> = {}) =>
  new Gate({ most: 2, mostWaiting: 2, patienceMs: 60_000, message: 'Too many', ...options });

/** Actions that run until they are told to end. */
function actions(gate: Gate, names: string[]) {
  const started: string[] = [];
  const ends = new Map(names.map((name) => [name, Promise.withResolvers<string>()]));
  const runs = names.map((name) => {
    const run = gate.run(async () => {
      started.push(name);
      return ends.get(name)?.promise;
    });
    run.catch(() => undefined);
    return run;
  });
  return { started, runs, end: (name: string) => ends.get(name)?.resolve(name), ends };
}

test('so many run at once, and the others in the order in which they came', async () => {
  const { started, runs, end } = actions(gateOf(), ['a', 'b', 'c', 'd']);
  expect(started).toEqual(['a', 'b']);
  end('b');
  expect(await runs[1]).toBe('b');
  await expect.poll(() => started).toEqual(['a', 'b', 'c']);
  for (const name of ['a', 'c', 'd']) end(name);
  expect(await Promise.all(runs)).toEqual(['a', 'b', 'c', 'd']);
  expect(started).toEqual(['a', 'b', 'c', 'd']);
});

test('an action that fails gives its place to the next', async () => {
  const gate = gateOf({ most: 1 });
  const { runs, ends, end } = actions(gate, ['a', 'b']);
  ends.get('a')?.reject(new Error('gone'));
  await expect(runs[0]).rejects.toThrow('gone');
  end('b');
  expect(await runs[1]).toBe('b');
  expect(await gate.run(async () => 'c')).toBe('c');
});

test('who comes when enough are waiting is turned away at once', async () => {
  const { runs, started, end } = actions(gateOf({ most: 1, mostWaiting: 1 }), ['a', 'b', 'c']);
  await expect(runs[2]).rejects.toMatchObject({ code: 'UNAVAILABLE', message: 'Too many' });
  for (const name of ['a', 'b']) end(name);
  expect(await Promise.all(runs.slice(0, 2))).toEqual(['a', 'b']);
  expect(started).toEqual(['a', 'b']);
});

test('who has waited for too long is turned away, and its turn goes to nobody', async () => {
  const gate = gateOf({ most: 1, patienceMs: 5 });
  const { runs, started, end } = actions(gate, ['a', 'b']);
  await expect(runs[1]).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  end('a');
  expect(await runs[0]).toBe('a');
  expect(await gate.run(async () => 'c')).toBe('c');
  expect(started).toEqual(['a']);
});
