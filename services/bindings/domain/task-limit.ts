import type { Clock } from '#kit/clock.ts';

export interface TaskLimitOptions {
  maxRunning: number;
  /** The milliseconds after which a task that is still running no longer counts towards the limit. */
  maxRunMs: number;
  clock: Clock;
}

/** Limits the number of tasks that run concurrently. Waiting tasks start in the order of their arrival. */
export class TaskLimit {
  readonly #options: TaskLimitOptions;
  /** When each running task was started, in Unix milliseconds. */
  readonly #running = new Map<symbol, number>();
  readonly #waiting = new Set<() => void>();

  constructor(options: TaskLimitOptions) {
    this.#options = options;
  }

  /** Runs a task as soon as the limit allows it. Does not start the task after the signal is aborted. */
  async run(task: () => Promise<unknown>, signal: AbortSignal): Promise<void> {
    while (!signal.aborted && !this.#isFree()) await this.#nextChange(signal);
    if (signal.aborted) {
      // This task may have been woken to start; because it does not start, the next one is woken instead.
      this.#wakeNext();
      return;
    }
    const id = Symbol('task');
    this.#running.set(id, this.#options.clock.now());
    try {
      await task();
    } finally {
      this.#running.delete(id);
      this.#wakeNext();
    }
  }

  #isFree(): boolean {
    const { maxRunning, maxRunMs, clock } = this.#options;
    const now = clock.now();
    for (const [id, startedAt] of this.#running) if (startedAt + maxRunMs <= now) this.#running.delete(id);
    return this.#running.size < maxRunning;
  }

  /** Resolves when another task has ended or the signal is aborted. */
  #nextChange(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        this.#waiting.delete(wake);
        signal.removeEventListener('abort', wake);
        resolve();
      };
      this.#waiting.add(wake);
      signal.addEventListener('abort', wake, { once: true });
    });
  }

  #wakeNext(): void {
    const [next] = this.#waiting;
    next?.();
  }
}
