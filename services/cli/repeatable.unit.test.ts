import { expect, test } from 'vitest';
import { ApiError } from '#kit/errors.ts';
import { repeatable } from './repeatable.ts';

const screen = { tell: () => undefined, redraw: undefined, readInput: async () => '' };
const timeout = () => new ApiError('TIMEOUT', { cause: { code: 4 } });

test('a call whose response was lost is made again, and its result counts', async () => {
  let calls = 0;
  const call = async () => {
    if (++calls < 3) throw timeout();
    return calls;
  };
  expect(await repeatable('k', screen, call)).toBe(3);
});

test('a call without any response says how to repeat it safely', async () => {
  let calls = 0;
  const call = async () => {
    calls++;
    throw timeout();
  };
  const failure = repeatable('3b0c-key', screen, call);
  await expect(failure).rejects.toThrow('may still have been done. To repeat it without doing it twice');
  await expect(failure).rejects.toThrow('--idempotency-key 3b0c-key');
  expect(calls).toBe(3);
});

test('a refusal is not repeated', async () => {
  let calls = 0;
  const call = async () => {
    calls++;
    throw new ApiError('CONFLICT', { message: 'no' });
  };
  await expect(repeatable('k', screen, call)).rejects.toMatchObject({ code: 'CONFLICT' });
  expect(calls).toBe(1);
});
