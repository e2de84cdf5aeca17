import { expect, test } from 'vitest';
import { ApiError } from '../../errors.ts';
import { createLog } from '../../telemetry/log.ts';
import { Notifier, readNames } from './notifier.ts';

const log = await createLog({ service: 'test', level: 'silent' });

/** A database that records the notifications and their times. */
function newDatabase() {
  const sent: { names: string[]; at: number; channel: unknown }[] = [];
  const failures: number[] = [];
  const state = { isUnavailable: false };
  const query = async <Result>(_text: string, values: readonly unknown[] = []) => {
    if (state.isUnavailable) {
      failures.push(performance.now());
      throw new ApiError('UNAVAILABLE');
    }
    sent.push({ channel: values[0], names: readNames(String(values[1])), at: performance.now() });
    return [] as Result[];
  };
  return { query, sent, failures, state };
}

test('sends the first name immediately and later ones together, at most 20 times per second', async () => {
  const database = newDatabase();
  const notifier = new Notifier({ database, channel: 'changes', log });
  notifier.notify('1');
  expect(database.sent).toMatchObject([{ channel: 'changes', names: ['1'] }]);
  for (let name = 2; database.sent.length < 5; name++) {
    notifier.notify(String(name % 50));
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  await notifier.drain();
  const gaps = database.sent.slice(1).map(({ at }, index) => at - (database.sent[index]?.at ?? 0));
  expect(Math.min(...gaps)).toBeGreaterThan(45);
});

test('respects the size limit of a notification and loses no name', async () => {
  const database = newDatabase();
  const notifier = new Notifier({ database, channel: 'changes', log });
  const names = Array.from({ length: 1_000 }, (_, index) => String(10n ** 19n + BigInt(index)));
  for (const name of names) notifier.notify(name);
  await notifier.drain();
  expect(database.sent.flatMap((one) => one.names)).toEqual(names);
  expect(Math.max(...database.sent.map((one) => one.names.join(',').length))).toBeLessThan(8_000);
});

test('retries with backoff while the database is unavailable', async () => {
  const database = newDatabase();
  const notifier = new Notifier({ database, channel: 'changes', log });
  database.state.isUnavailable = true;
  notifier.notify('1');
  notifier.notify('2');
  await expect.poll(() => database.failures.length).toBeGreaterThan(3);
  const pauses = database.failures.slice(1, 4).map((at, index) => at - (database.failures[index] ?? 0));
  for (const [index, pause] of pauses.entries()) expect(pause).toBeGreaterThan(100 * 2 ** index - 5);
  database.state.isUnavailable = false;
  await expect.poll(() => database.sent.flatMap(({ names }) => names).toSorted()).toEqual(['1', '2']);
});

test('a drain does not wait for an unavailable database', async () => {
  const database = newDatabase();
  const notifier = new Notifier({ database, channel: 'changes', log });
  database.state.isUnavailable = true;
  notifier.notify('1');
  await expect.poll(() => database.failures.length).toBeGreaterThan(1);
  const tries = database.failures.length;
  await notifier.drain();
  expect(database.failures.length).toBe(tries + 1);
  expect(database.sent).toEqual([]);
});
