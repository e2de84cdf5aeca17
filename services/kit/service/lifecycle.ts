import { setTimeout as wait } from 'node:timers/promises';
import type { Logger } from '../telemetry/log.ts';

/** A part that a service is made of. */
export interface Part {
  name: string;
  start?(): Promise<void>;
  /** Sends callers elsewhere, and still takes whatever comes. */
  retire?(): void;
  /** Finishes what is under way and takes nothing new. */
  drain?(): Promise<void>;
  stop?(): Promise<void>;
}

/** Thrown by a start that a stop has overtaken: nothing is wrong. */
export class StoppedError extends Error {
  constructor() {
    super('stopped while starting');
    this.name = 'StoppedError';
  }
}

/** Starts parts in the order in which they were added; stops them in reverse, after all have retired and drained. */
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
   * When a part can't start, those that have started are stopped and its error is thrown.
   * StoppedError when a stop came first; all parts are stopped then.
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
    // The part that was still starting may have come up after it was stopped.
    const last = this.#started.at(-1);
    if (last) await this.#guard(last, 'stop');
    throw new StoppedError();
  }

  /**
   * Safe to call again, and while parts are still starting. Callers that believe it ready are served for
   * `drainDelayMs` more, so that they have time to hear that it is not.
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
    // All at once: each may wait for what others have under way, and the time for it is short.
    await Promise.all(this.#started.map((part) => this.#guard(part, 'drain')));
    for (const part of this.#started.toReversed()) await this.#guard(part, 'stop');
  }

  /** One part that fails to stop must not keep the others from it. */
  async #guard(part: Part, step: 'retire' | 'drain' | 'stop'): Promise<void> {
    try {
      await part[step]?.();
    } catch (error) {
      this.#log.error({ err: error, part: part.name }, `${step} failed`);
    }
  }
}
