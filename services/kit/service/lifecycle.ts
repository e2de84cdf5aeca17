import { setTimeout as wait } from 'node:timers/promises';
import type { Logger } from '../telemetry/log.ts';

/** A part of a service, such as a server or a connection, that starts and stops with the service. */
export interface Part {
  name: string;
  start?(): Promise<void>;
  /** Makes clients use another replica from now on; requests are still accepted. */
  retire?(): void;
  /** Completes the work in flight of this part and accepts no new work. */
  drain?(): Promise<void>;
  stop?(): Promise<void>;
}

/** Thrown by `start` if `stop` was called while the service was starting, which is not a failure. */
export class StoppedError extends Error {
  constructor() {
    super('stopped while starting');
    this.name = 'StoppedError';
  }
}

/**
 * Starts the parts of a service in the order in which they were added. Stops them in reverse order, after all parts
 * were retired and drained.
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
   * Starts all parts of the service. If a part fails to start, the started parts are stopped and its error is thrown.
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
    // A part that was starting during the stop may have finished its start after it was stopped, so it is stopped
    // again.
    const last = this.#started.at(-1);
    if (last) await this.#guard(last, 'stop');
    throw new StoppedError();
  }

  /**
   * Stops all parts of the service. `stop` may be called repeatedly, and while parts are still starting. The service
   * still accepts requests for `drainDelayMs`, so that clients can notice that it is no longer ready.
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
    // Parts drain concurrently, because one part may wait for work in flight of another part, and the time is limited.
    await Promise.all(this.#started.map((part) => this.#guard(part, 'drain')));
    for (const part of this.#started.toReversed()) await this.#guard(part, 'stop');
  }

  /**
   * Runs a step of the stop for one part. An error is logged and not thrown, so that the other parts are stopped too.
   */
  async #guard(part: Part, step: 'retire' | 'drain' | 'stop'): Promise<void> {
    try {
      await part[step]?.();
    } catch (error) {
      this.#log.error({ err: error, part: part.name }, `failed to ${step} a part of the service`);
    }
  }
}
