import type { Part } from '#kit/lifecycle.ts';
import type { Logger } from '#kit/log.ts';
import type { LinkChanges } from './changes.ts';

const EVERY_MS = 2_000;
const BATCH = 20;

/** Finishes changes that their replica has given up, or did not live to finish. */
export class Sweep implements Part {
  readonly name = 'sweep';
  readonly #changes: LinkChanges;
  readonly #log: Logger;
  #timer: NodeJS.Timeout | undefined;
  #sweeping: Promise<void> = Promise.resolve();
  #stopped = false;

  constructor(changes: LinkChanges, log: Logger) {
    this.#changes = changes;
    this.#log = log;
  }

  async start(): Promise<void> {
    this.#schedule(0);
  }

  async drain(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await this.#sweeping;
  }

  #schedule(delay: number): void {
    this.#timer = setTimeout(() => {
      this.#sweeping = this.#sweep();
    }, delay).unref();
  }

  async #sweep(): Promise<void> {
    try {
      while (!this.#stopped && (await this.#finishBatch()));
    } catch (error) {
      this.#log.warn({ err: error }, 'changes that others began could not be looked for');
    }
    if (!this.#stopped) this.#schedule(EVERY_MS);
  }

  /** True when more are waiting. One that fails keeps no other from being finished, and is tried again later. */
  async #finishBatch(): Promise<boolean> {
    const abandoned = await this.#changes.takeAbandoned(BATCH);
    const outcomes = await Promise.allSettled(abandoned.map((intent) => this.#changes.finish(intent)));
    return abandoned.length === BATCH && outcomes.every(({ status }) => status === 'fulfilled');
  }
}
