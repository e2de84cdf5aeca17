import { expect, test } from 'vitest';
import { snowflakeTime } from './snowflake.ts';

test('a chat ID holds the time at which its account was made', () => {
  // The example of the platform's own documentation.
  expect(snowflakeTime('175928847299117063').toISOString()).toBe('2016-04-30T11:18:25.796Z');
  expect(snowflakeTime('18446744073709551615').getUTCFullYear()).toBe(2154);
});
