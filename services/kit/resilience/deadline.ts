/** Thrown when a promise has not settled in time. */
export class DeadlineError extends Error {
  constructor(milliseconds: number) {
    super(`no response within ${milliseconds} ms`);
    this.name = 'DeadlineError';
  }
}

/**
 * Waits for a promise and returns its result. Throws a DeadlineError after `milliseconds` and ignores a later result.
 */
export function within<Result>(milliseconds: number, pending: Promise<Result>): Promise<Result> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      // The event loop runs timers before it reads sockets. If this process has stalled, the response may already be
      // waiting in the socket; setImmediate lets it be read first.
      setImmediate(() => reject(new DeadlineError(milliseconds)));
    }, milliseconds);
    void pending.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
