/** Thrown when an answer did not come in time. */
export class DeadlineError extends Error {
  constructor(milliseconds: number) {
    super(`no answer within ${milliseconds} ms`);
    this.name = 'DeadlineError';
  }
}

/** The answer, or a DeadlineError once so many milliseconds have passed; a later answer is dropped. */
export function within<Answer>(milliseconds: number, answer: Promise<Answer>): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      // Timers come before sockets in a turn of the event loop: after a stall of this process the answer may lie in
      // the socket unread, and it is not the other side that was slow.
      setImmediate(() => reject(new DeadlineError(milliseconds)));
    }, milliseconds);
    void answer.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
