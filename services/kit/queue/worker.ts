import type { Part } from '../service/lifecycle.ts';
import type { ItemKey, QueueDefinition } from './definition.ts';
import { QueueRunner, type RunnerOptions } from './runner.ts';

/**
 * The mean time between polls in milliseconds; each wait varies by plus or minus a half. A poll finds items that have
 * become due and items of processes that died.
 */
const POLL_MS = 1_000;
/** The number of polls after which the counts and ages of queue items are read again for the metrics. */
const POLLS_PER_STATS = 5;

/**
 * The only queue worker of a process. Polls all of the process's queues with jitter, and immediately when `wake` is
 * called after a commit. A queue that is slow or down does not delay the others.
 */
export class QueueWorker implements Part {
  readonly name = 'queue worker';
  readonly #runners: readonly QueueRunner[];
  #timer: NodeJS.Timeout | undefined;
  #polls = 0;
  #isStopped = false;

  constructor(definitions: readonly QueueDefinition[], options: RunnerOptions) {
    this.#runners = definitions.map((definition) => new QueueRunner(definition, options));
  }

  /** Looks for due items of a queue, or of all queues. Must be called after each commit that enqueues an item. */
  wake(queue?: string): void {
    for (const runner of this.#runners) if (queue === undefined || runner.definition.name === queue) runner.wake();
  }

  /** Attempts an item of an unordered queue that was just committed; see `QueueRunner.begin`. */
  async begin(queue: string, item: ItemKey): Promise<boolean> {
    return (await this.#runner(queue)?.begin(item)) ?? false;
  }

  /** The age in seconds of the oldest item of a queue that waits or is in flight; 0 if there is none. */
  oldestSeconds(queue: string): number {
    return this.#runner(queue)?.metrics.oldestSeconds ?? 0;
  }

  #runner(queue: string): QueueRunner | undefined {
    return this.#runners.find(({ definition }) => definition.name === queue);
  }

  async start(): Promise<void> {
    this.#poll();
  }

  async drain(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    await Promise.all(this.#runners.map((runner) => runner.drain()));
  }

  #poll(): void {
    if (this.#isStopped) return;
    this.wake();
    if (this.#polls++ % POLLS_PER_STATS === 0) {
      // If reading the figures fails, the metrics show the previous figures until the next time.
      for (const runner of this.#runners) void runner.readStats().catch(() => undefined);
    }
    this.#timer = setTimeout(() => this.#poll(), POLL_MS * (0.5 + Math.random())).unref();
  }
}
