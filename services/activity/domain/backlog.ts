import type { Clock } from '#kit/clock.ts';
import type { Queryable } from '#kit/postgres/pool.ts';
import type { Part } from '#kit/service/lifecycle.ts';
import type { Logger } from '#kit/telemetry/log.ts';
import type { Metrics } from '#kit/telemetry/metrics.ts';
import { readUnacknowledged, type Unacknowledged } from '../store/command-records.ts';

const EVERY_MS = 15_000;

export interface BacklogOptions {
  database: Queryable;
  clock: Clock;
  metrics: Metrics;
  log: Logger;
}

/**
 * Watches what servers have not acknowledged, for alerts. Every replica sees what all have: use the greatest, not the
 * sum. `waiting` was not handed over yet, `handed_over` was at least once.
 */
export class Backlog implements Part {
  readonly name = 'backlog';
  readonly #options: BacklogOptions;
  readonly #expired;
  #seen: Unacknowledged[] = [];
  /** What expired up to then is counted. */
  #countedTo: Date;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: BacklogOptions) {
    this.#options = options;
    const { metrics, clock } = options;
    this.#countedTo = new Date(clock.now());
    this.#expired = metrics.counter('activity_commands_expired_total', 'Commands that were never acknowledged', [
      'state',
    ]);
    metrics.gauge(
      'activity_unacknowledged_commands',
      'Commands that are neither acknowledged nor expired',
      ['state'],
      (gauge) => {
        for (const { state, count } of this.#seen) gauge.set({ state }, count);
      },
    );
    metrics.gauge(
      'activity_oldest_unacknowledged_command_seconds',
      'Age of the oldest of them; 0 where there is none',
      ['state'],
      (gauge) => {
        for (const { state, oldest } of this.#seen)
          gauge.set({ state }, oldest ? (clock.now() - oldest.getTime()) / 1000 : 0);
      },
    );
  }

  async start(): Promise<void> {
    await this.look();
    this.#timer = setInterval(() => void this.look(), EVERY_MS).unref();
  }

  async drain(): Promise<void> {
    clearInterval(this.#timer);
  }

  /** What can not be read now is counted by the next look. */
  async look(): Promise<void> {
    const { database, clock, log } = this.#options;
    const now = new Date(clock.now());
    try {
      this.#seen = await readUnacknowledged(database, this.#countedTo, now);
      for (const { state, expired } of this.#seen) this.#expired.inc({ state }, expired);
      this.#countedTo = now;
    } catch (error) {
      log.warn({ err: error }, 'unacknowledged commands could not be counted');
    }
  }
}
