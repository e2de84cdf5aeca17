import { AsyncLocalStorage } from 'node:async_hooks';

const background = new AsyncLocalStorage<true>();

/** Work that nobody waits for: its calls of the chat platform come after those that someone waits for. */
export function inBackground<Result>(work: () => Promise<Result>): Promise<Result> {
  return background.run(true, work);
}

export const isInBackground = (): boolean => background.getStore() === true;
