import { EventEmitter } from 'node:events';
import { expect, test } from 'vitest';
import { contained } from './contained.ts';

test('an error of a listener is passed to the handler with the event, and emit() does not throw', () => {
  const emitter = new EventEmitter();
  const failures: unknown[][] = [];
  const received: number[] = [];
  const listener = (value: number) => {
    if (value < 0) throw new RangeError('negative');
    received.push(value);
  };
  emitter.on(
    'value',
    contained(listener, (error, value) => failures.push([error, value])),
  );
  for (const value of [1, -2, 3]) emitter.emit('value', value);
  expect(received).toEqual([1, 3]);
  expect(failures).toEqual([[new RangeError('negative'), -2]]);
});
