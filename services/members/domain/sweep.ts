import { withPurpose } from '#kit/context.ts';
import type { Part } from '#kit/lifecycle.ts';
import type { Logger } from '#kit/log.ts';

const EVERY_MS = 1_000;
const BATCH = 20;

/** Work that is noted before it is begun. */
export interface Resumable<Task> {
  /** Takes what nobody works at any more; `limit` at most. */
  takeAbandoned(limit: number): Promise<Task[]>;
  finish(task: Task): Promise<unknown>;
}

/** Finishes what its replica has given up, or did not live to finish. */
export class Sweep<Task> implements Part {
  readonly name: string;
  readonly #work: Resumable<Task>;
  readonly #log: Logger;
  #timer: NodeJS.Timeout | undefined;
  #sweeping: Promise<void> = Promise.resolve();
  #stopped = false;

  /** `what` is told by the log. */
  constructor(what: string, work: Resumable<Task>, log: Logger) {
    this.name = `sweep of ${what}`;
    this.#work = work;
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
      this.#log.warn({ err: error }, `the ${this.name} failed`);
    }
    if (!this.#stopped) this.#schedule(EVERY_MS);
  }

  /** True when more are waiting. One that fails keeps no other from being finished, and is tried again later. */
  async #finishBatch(): Promise<boolean> {
    const abandoned = await this.#work.takeAbandoned(BATCH);
    const outcomes = await Promise.allSettled(
      abandoned.map((task) => withPurpose('background', () => this.#work.finish(task))),
    );
    return abandoned.length === BATCH && outcomes.every(({ status }) => status === 'fulfilled');
  }
}
