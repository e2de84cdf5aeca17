import { EventEmitter } from 'node:events';
import { expect, test } from 'vitest';
import { contained } from './contained.ts';

test('what a listener throws is handed over with what the listener was given, and emit() does not throw', () => {
  const emitter = new EventEmitter();
  const failures: unknown[][] = [];
  const heard: number[] = [];
  const listener = (value: number) => {
    if (value < 0) throw new RangeError('negative');
    heard.push(value);
  };
  emitter.on(
    'value',
    contained(listener, (error, value) => failures.push([error, value])),
  );
  for (const value of [1, -2, 3]) emitter.emit('value', value);
  expect(heard).toEqual([1, 3]);
  expect(failures).toEqual([[new RangeError('negative'), -2]]);
});
