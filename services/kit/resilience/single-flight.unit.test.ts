import { expect, test, vi } from 'vitest';
import { SingleFlight } from './single-flight.ts';

test('concurrent callers of one key share one call, and the next caller calls again', async () => {
  const flights = new SingleFlight<number>();
  const calls: PromiseWithResolvers<number>[] = [];
  const work = () => {
    const call = Promise.withResolvers<number>();
    calls.push(call);
    return call.promise;
  };
  const results = [flights.run('a', work), flights.run('a', work), flights.run('b', work)];
  expect(calls).toHaveLength(2);
  calls.forEach((call, index) => call.resolve(index));
  expect(await Promise.all(results)).toEqual([0, 0, 1]);
  void flights.run('a', work);
  expect(calls).toHaveLength(3);
});

test('an error reaches all callers that share the call and is not kept', async () => {
  const flights = new SingleFlight<string>();
  const work = vi.fn<() => Promise<string>>().mockImplementationOnce(() => {
    throw new Error('down');
  });
  work.mockResolvedValue('up');
  const results = await Promise.allSettled([flights.run('a', work), flights.run('a', work)]);
  expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(await flights.run('a', work)).toBe('up');
});
