import { ApiError } from '#kit/errors.ts';
import type { Terminal } from './command.ts';
import { ConnectionError } from './errors.ts';
import { explain } from './explain.ts';

const MAX_ATTEMPTS = 3;

/**
 * Calls a service with an idempotency key, and retries with the same key if the response was lost. If the last attempt
 * fails too, the error says how the command line can be repeated safely.
 */
export async function repeatable<Result>(
  key: string,
  terminal: Terminal,
  call: () => Promise<Result>,
): Promise<Result> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await call();
    } catch (error) {
      if (!(error instanceof ApiError) || !isOutcomeUnknown(error)) throw error;
      if (attempt === MAX_ATTEMPTS) throw new ConnectionError(`${explain(error)}. ${howToRepeat(key)}`);
      terminal.report(`no response, trying again (${attempt + 1} of ${MAX_ATTEMPTS})`);
    }
  }
}

/** True if the service may have carried out the request although its response was lost. */
const isOutcomeUnknown = ({ code }: ApiError) => code === 'TIMEOUT' || code === 'UNAVAILABLE';

const howToRepeat = (key: string) =>
  `To repeat it without doing it twice, add to the same command line: --idempotency-key ${key}`;
