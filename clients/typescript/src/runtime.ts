/** Time, chance and the network. Tests replace them. */
export interface Runtime {
  fetch: typeof globalThis.fetch;
  /** Milliseconds since 1970. */
  now: () => number;
  /** A number from 0 to 1, without 1. */
  random: () => number;
  /** Resolves after some milliseconds; rejects with the reason of the signal once that is aborted. */
  sleep: (milliseconds: number, signal?: AbortSignal) => Promise<void>;
}

export const systemRuntime: Runtime = {
  // Not bound at import, so that programs can replace the global function afterwards.
  fetch: (input, init) => globalThis.fetch(input, init),
  now: () => Date.now(),
  random: () => Math.random(),
  sleep,
};

function sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(reasonOf(signal));
    const onAbort = () => {
      clearTimeout(timer);
      reject(reasonOf(signal));
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    }, milliseconds);
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}

/** The value with which an aborted call rejects. */
export function reasonOf(signal: AbortSignal | undefined): Error {
  return signal?.reason as Error;
}
