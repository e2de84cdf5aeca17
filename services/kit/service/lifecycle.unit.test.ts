import { pino } from 'pino';
import { beforeEach, expect, test } from 'vitest';
import { Lifecycle, type Part, StoppedError } from './lifecycle.ts';

const silent = pino({ level: 'silent' });
let done: string[];
let lifecycle: Lifecycle;

beforeEach(() => {
  done = [];
  lifecycle = new Lifecycle(silent);
});

function part(name: string, own: Partial<Part> = {}): Part {
  const step = (action: string) => async () => void done.push(`${action} ${name}`);
  return { name, start: step('start'), drain: step('drain'), stop: step('stop'), ...own };
}

test('parts start in order, and stop in reverse order after all have drained', async () => {
  for (const name of ['database', 'http']) lifecycle.add(part(name));
  lifecycle.add({ name: 'bare' });
  await lifecycle.start();
  await Promise.all([lifecycle.stop(), lifecycle.stop()]);
  expect(done).toEqual(['start database', 'start http', 'drain database', 'drain http', 'stop http', 'stop database']);
});

test('parts drain concurrently: one may wait for another', async () => {
  const released = Promise.withResolvers<void>();
  lifecycle.add(part('http', { drain: () => released.promise }));
  lifecycle.add(part('polls', { drain: async () => released.resolve() }));
  await lifecycle.start();
  await lifecycle.stop();
  expect(done.slice(-2)).toEqual(['stop polls', 'stop http']);
});

test('a stop retires all parts immediately, and drains them after the delay', async () => {
  lifecycle.add(part('http', { retire: () => void done.push('retire http') }));
  await lifecycle.start();
  const started = performance.now();
  const stopped = lifecycle.stop(50);
  expect(done).toEqual(['start http', 'retire http']);
  await stopped;
  expect(done).toEqual(['start http', 'retire http', 'drain http', 'stop http']);
  expect(performance.now() - started).toBeGreaterThan(45);
});

test('a process that was never ready stops without the drain delay', async () => {
  const waiting = Promise.withResolvers<void>();
  lifecycle.add(part('database', { start: () => waiting.promise, stop: async () => waiting.resolve() }));
  const started = lifecycle.start();
  await lifecycle.stop(60_000);
  await expect(started).rejects.toThrow(StoppedError);
});

test('if a part cannot start, it and the parts before it are stopped and its error is thrown', async () => {
  lifecycle.add(part('database'));
  lifecycle.add(part('grpc', { start: () => Promise.reject(new Error('the port is taken')) }));
  lifecycle.add(part('http'));
  await expect(lifecycle.start()).rejects.toThrow('the port is taken');
  expect(done).toEqual(['start database', 'drain database', 'drain grpc', 'stop grpc', 'stop database']);
});

test('a part that fails to drain or stop does not prevent the others from it', async () => {
  lifecycle.add(part('a'));
  lifecycle.add(
    part('b', {
      drain: () => Promise.reject(new Error('drain')),
      stop: () => {
        throw new Error('stop');
      },
    }),
  );
  await lifecycle.start();
  await lifecycle.stop();
  expect(done).toEqual(['start a', 'start b', 'drain a', 'stop a']);
});

test('a stop while a part is starting ends its wait, starts no further part and is not a failure', async () => {
  const waiting = Promise.withResolvers<void>();
  lifecycle.add(
    part('database', { start: () => waiting.promise, stop: async () => waiting.reject(new Error('aborted')) }),
  );
  lifecycle.add(part('http'));
  const started = lifecycle.start();
  await lifecycle.stop();
  await expect(started).rejects.toThrow(StoppedError);
  expect(done).toEqual(['drain database']);
});

test('a part whose start ends after it was stopped is stopped again', async () => {
  const waiting = Promise.withResolvers<void>();
  lifecycle.add(part('http', { start: () => waiting.promise }));
  const started = lifecycle.start();
  await lifecycle.stop();
  waiting.resolve();
  await expect(started).rejects.toThrow(StoppedError);
  expect(done).toEqual(['drain http', 'stop http', 'stop http']);
});
