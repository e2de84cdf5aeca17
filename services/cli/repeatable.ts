import { ApiError } from '#kit/errors.ts';
import type { Screen } from './command.ts';
import { ConnectionError, explain } from './connections.ts';

const MAX_ATTEMPTS = 3;

/**
 * Calls a service with an idempotency key, again with the same key where the response was lost. A failure after the last
 * attempt says how the command line can be repeated safely.
 */
export async function repeatable<Result>(key: string, screen: Screen, call: () => Promise<Result>): Promise<Result> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await call();
    } catch (error) {
      if (!(error instanceof ApiError) || !isUncertain(error)) throw error;
      if (attempt === MAX_ATTEMPTS) throw new ConnectionError(`${explain(error)}. ${howToRepeat(key)}`);
      screen.tell(`no response, trying again (${attempt + 1} of ${MAX_ATTEMPTS})`);
    }
  }
}

/** Whether the service may have done what was asked although it did not say so. */
const isUncertain = ({ code }: ApiError) => code === 'TIMEOUT' || code === 'UNAVAILABLE';

const howToRepeat = (key: string) =>
  `To repeat it without doing it twice, add to the same command line: --idempotency-key ${key}`;
