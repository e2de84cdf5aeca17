import { setTimeout as wait } from 'node:timers/promises';
import type { Part } from '#kit/service/lifecycle.ts';

const EVERY_MS = 60_000;

export interface UpkeepOptions {
  /** What is done; a job that fails is tried again a minute later. */
  jobs: Readonly<Record<string, () => Promise<void>>>;
  failed: (error: unknown, job: string) => void;
}

/** Runs jobs about once a minute, the first time shortly after the start. */
export class Upkeep implements Part {
  readonly name = 'webhook upkeep';
  readonly #options: UpkeepOptions;
  readonly #stopping = new AbortController();
  #running: Promise<void> = Promise.resolve();

  constructor(options: UpkeepOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    this.#running = this.#run();
  }

  async drain(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      for (const [name, job] of Object.entries(this.#options.jobs)) {
        await job().catch((error: unknown) => this.#options.failed(error, name));
      }
      await wait(EVERY_MS * (1 - 0.5 * Math.random()), undefined, { signal, ref: false }).catch(() => undefined);
    }
  }
}
