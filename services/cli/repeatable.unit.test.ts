import { expect, test } from 'vitest';
import { ApiError } from '#kit/errors.ts';
import { repeatable } from './repeatable.ts';

const terminal = { report: () => undefined, redraw: undefined, readInput: async () => '' };
const timeout = () => new ApiError('TIMEOUT', { cause: { code: 4 } });

test('a call whose response was lost is retried, and the result of the retry is returned', async () => {
  let calls = 0;
  const call = async () => {
    if (++calls < 3) throw timeout();
    return calls;
  };
  expect(await repeatable('k', terminal, call)).toBe(3);
});

test('if no attempt gets a response, the error says how to repeat the command safely', async () => {
  let calls = 0;
  const call = async () => {
    calls++;
    throw timeout();
  };
  const failure = repeatable('3b0c-key', terminal, call);
  await expect(failure).rejects.toThrow('may still have been carried out. To repeat it without doing it twice');
  await expect(failure).rejects.toThrow('--idempotency-key 3b0c-key');
  expect(calls).toBe(3);
});

test('a rejected call is not retried', async () => {
  let calls = 0;
  const call = async () => {
    calls++;
    throw new ApiError('CONFLICT', { message: 'no' });
  };
  await expect(repeatable('k', terminal, call)).rejects.toMatchObject({ code: 'CONFLICT' });
  expect(calls).toBe(1);
});
