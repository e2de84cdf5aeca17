import type { Part } from '../service/lifecycle.ts';
import type { ItemKey, QueueDefinition } from './definition.ts';
import { QueueRunner, type RunnerOptions } from './runner.ts';

/** Items left by other processes, and items that become due, are found within this time, plus or minus a half. */
const POLL_MS = 1_000;
/** The figures for the metrics are read once in this many polls. */
const POLLS_PER_STATS = 5;

/**
 * The one worker loop of a process: polls all of its queues with jitter, and immediately when woken after a commit. A
 * queue that is slow or down delays no other.
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

  /** Looks for due items of a queue, or of all queues: call it after a commit that enqueues something. */
  wake(queue?: string): void {
    for (const runner of this.#runners) if (queue === undefined || runner.definition.name === queue) runner.wake();
  }

  /** See `QueueRunner.begin`. */
  async begin(queue: string, item: ItemKey): Promise<boolean> {
    return (await this.#runner(queue)?.begin(item)) ?? false;
  }

  /** The age of the oldest item of a queue that is not done; 0 when there is none. */
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
      // If that fails, metrics show the previous figures until the next time.
      for (const runner of this.#runners) void runner.readStats().catch(() => undefined);
    }
    this.#timer = setTimeout(() => this.#poll(), POLL_MS * (0.5 + Math.random())).unref();
  }
}
