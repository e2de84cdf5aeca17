import type { Part } from '../service/lifecycle.ts';
import type { QueueDefinition } from './definition.ts';
import { QueueRunner, type RunnerOptions } from './runner.ts';

/** What other processes have left, and what has become due, is found within this time, give or take a half. */
const POLL_MS = 1_000;
/** Polls after which the figures for the metrics are read. */
const POLLS_PER_STATS = 5;

/**
 * The one worker loop of a process: polls all of its queues with jitter, and at once when woken after a commit. A queue
 * that is slow or down holds up no other.
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

  /** Something was enqueued, or is due again: in this process's commit, or as a notification says. */
  wake(): void {
    for (const runner of this.#runners) runner.wake();
  }

  /** The age of the oldest item of a queue that is not done; 0 when there is none. */
  oldestSeconds(queue: string): number {
    return this.#runners.find(({ definition }) => definition.name === queue)?.metrics.oldestSeconds ?? 0;
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
      // Metrics show the figures before; the next poll tries again.
      for (const runner of this.#runners) void runner.readStats().catch(() => undefined);
    }
    this.#timer = setTimeout(() => this.#poll(), POLL_MS * (0.5 + Math.random())).unref();
  }
}
