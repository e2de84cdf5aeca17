import { performance } from 'node:perf_hooks';
import type { Metrics } from '../telemetry/metrics.ts';
import type { QueueStats } from './definition.ts';

/**
 * The outcome of an attempt to handle a queue item: `done`, `retried` or `dead` after a failure, `unavailable` if a
 * service that the handler calls is down for all items, so that the attempt does not count.
 */
export type AttemptOutcome = 'done' | 'retried' | 'unavailable' | 'dead';
const OUTCOMES: readonly AttemptOutcome[] = ['done', 'retried', 'unavailable', 'dead'];

/** The Prometheus metrics of one queue. */
export class QueueMetrics {
  readonly #queue: string;
  readonly #attempts;
  #stats: QueueStats = { queued: 0, dead: 0, oldestSeconds: null };
  #readAt = performance.now();

  constructor(metrics: Metrics, queue: string) {
    this.#queue = queue;
    this.#attempts = metrics.counter(
      'queue_attempts_total',
      'Attempts of this process to handle an item of a queue, by outcome',
      ['queue', 'outcome'],
    );
    for (const outcome of OUTCOMES) this.#attempts.inc({ queue, outcome }, 0);
    const help = 'Items of a queue in all processes: waiting or in flight (queued), and dead letters; 10000 at most';
    metrics.gauge('queue_items', help, ['queue', 'state'], (gauge) => {
      gauge.set({ queue, state: 'queued' }, this.#stats.queued);
      gauge.set({ queue, state: 'dead' }, this.#stats.dead);
    });
    metrics.gauge('queue_oldest_seconds', 'Age of the oldest unfinished item of a queue', ['queue'], (gauge) =>
      gauge.set({ queue }, this.oldestSeconds),
    );
  }

  /** The age in seconds of the oldest item that waits or is in flight; 0 if there is none. */
  get oldestSeconds(): number {
    const { oldestSeconds } = this.#stats;
    return oldestSeconds === null ? 0 : Math.max(0, oldestSeconds) + (performance.now() - this.#readAt) / 1000;
  }

  attempted(outcome: AttemptOutcome): void {
    this.#attempts.inc({ queue: this.#queue, outcome });
  }

  read(stats: QueueStats): void {
    this.#stats = stats;
    this.#readAt = performance.now();
  }
}
