import { expect, test } from 'vitest';
import { snowflakeTime } from './snowflake.ts';

test('a chat ID contains the creation time of its account', () => {
  // The example in the platform's documentation.
  expect(snowflakeTime('175928847299117063').toISOString()).toBe('2016-04-30T11:18:25.796Z');
  expect(snowflakeTime('18446744073709551615').getUTCFullYear()).toBe(2154);
});
