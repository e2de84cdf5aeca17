import { Command } from 'ioredis';
import { expect, test } from 'vitest';
import { isYoung } from '#test/measure/young-generation.ts';
import { ScriptCall } from './script-call.ts';

test('a call and all that it holds are where the next collection of young garbage finds them', () => {
  const { promise, resolve, reject, args } = new ScriptCall('evalsha', ['sha', 1, 'key', 60]);
  expect([promise, resolve, reject, args].map(isYoung)).toEqual([true, true, true, true]);
  // Once this is true of ioredis's own commands, they will do.
  expect(isYoung(new Command('evalsha', ['sha', 1, 'key', 60]).reject)).toBe(false);
});

test('its words are texts, as the protocol wants them', () => {
  const call = new ScriptCall('evalsha', ['sha', 1, 'key', 60]);
  expect(call.toWritable({})).toBe('*5\r\n$7\r\nevalsha\r\n$3\r\nsha\r\n$1\r\n1\r\n$3\r\nkey\r\n$2\r\n60\r\n');
  expect(call.getKeys()).toEqual(['key']);
});
