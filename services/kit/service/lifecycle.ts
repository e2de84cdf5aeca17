import { setTimeout as wait } from 'node:timers/promises';
import type { Logger } from '../telemetry/log.ts';

/** A part of a service that starts and stops with it. */
export interface Part {
  name: string;
  start?(): Promise<void>;
  /** Asks clients to use another replica, and still accepts requests. */
  retire?(): void;
  /** Finishes the work in flight and accepts no new work. */
  drain?(): Promise<void>;
  stop?(): Promise<void>;
}

/** Thrown by `start` if `stop` was called meanwhile. It is not a failure. */
export class StoppedError extends Error {
  constructor() {
    super('stopped while starting');
    this.name = 'StoppedError';
  }
}

/**
 * Starts parts in the order in which they were added. Stops them in reverse order, after all were retired and drained.
 */
export class Lifecycle {
  readonly #parts: Part[] = [];
  readonly #started: Part[] = [];
  readonly #log: Logger;
  #stopping: Promise<void> | undefined;
  #hasStarted = false;

  constructor(log: Logger) {
    this.#log = log;
  }

  add(part: Part): void {
    this.#parts.push(part);
  }

  /**
   * Starts all parts. If one fails, the started parts are stopped and its error is thrown.
   * Throws StoppedError if `stop` was called meanwhile; all parts are stopped then.
   */
  async start(): Promise<void> {
    for (const part of this.#parts) {
      if (this.#stopping) break;
      this.#started.push(part);
      try {
        await part.start?.();
      } catch (error) {
        if (this.#stopping) break;
        await this.stop();
        throw error;
      }
    }
    this.#hasStarted = !this.#stopping;
    if (!this.#stopping) return;
    await this.#stopping;
    // The part that was starting during the stop may have finished its start after it was stopped.
    const last = this.#started.at(-1);
    if (last) await this.#guard(last, 'stop');
    throw new StoppedError();
  }

  /**
   * Stops all parts. It may be called repeatedly, and while parts are still starting. Requests are served for
   * `drainDelayMs` longer, so that clients can notice that the process is no longer ready.
   */
  stop(drainDelayMs = 0): Promise<void> {
    this.#stopping ??= this.#stop(drainDelayMs);
    return this.#stopping;
  }

  async #stop(drainDelayMs: number): Promise<void> {
    if (this.#hasStarted) {
      for (const part of this.#started) await this.#guard(part, 'retire');
      if (drainDelayMs > 0) await wait(drainDelayMs);
    }
    // Concurrently, because one part may wait for work in flight of another part, and the time is limited.
    await Promise.all(this.#started.map((part) => this.#guard(part, 'drain')));
    for (const part of this.#started.toReversed()) await this.#guard(part, 'stop');
  }

  /** Logs the error of a part, so that the other parts are stopped too. */
  async #guard(part: Part, step: 'retire' | 'drain' | 'stop'): Promise<void> {
    try {
      await part[step]?.();
    } catch (error) {
      this.#log.error({ err: error, part: part.name }, `failed to ${step} a part of the service`);
    }
  }
}
