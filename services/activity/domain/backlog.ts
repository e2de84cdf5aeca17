import type { Clock } from '#kit/clock.ts';
import type { Queryable } from '#kit/postgres/pool.ts';
import type { Part } from '#kit/service/lifecycle.ts';
import type { Logger } from '#kit/telemetry/log.ts';
import type { Metrics } from '#kit/telemetry/metrics.ts';
import { readUnacknowledged, type UnacknowledgedCounts } from '../store/command-records.ts';

const INTERVAL_MS = 15_000;

export interface BacklogOptions {
  database: Queryable;
  clock: Clock;
  metrics: Metrics;
  log: Logger;
}

/**
 * Counts the commands that game servers have not acknowledged, for alerts. Every replica counts the commands of all
 * guilds, so metric queries must take the maximum over the replicas, not the sum. The label `state` of a command is
 * `waiting` before its first delivery and `handed_over` afterwards.
 */
export class Backlog implements Part {
  readonly name = 'backlog';
  readonly #options: BacklogOptions;
  readonly #expired;
  #counts: UnacknowledgedCounts[] = [];
  /** The end of the last count: commands that expired before this time are in the counter already. */
  #countedUntil: Date;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: BacklogOptions) {
    this.#options = options;
    const { metrics, clock } = options;
    this.#countedUntil = new Date(clock.now());
    this.#expired = metrics.counterOf(
      'activity_commands_expired_total',
      'Commands that expired without an acknowledgement, by whether they were handed over before',
      'state',
      ['waiting', 'handed_over'],
    );
    metrics.gauge(
      'activity_unacknowledged_commands',
      'Commands that are neither acknowledged nor expired, counted every 15 s over all guilds',
      ['state'],
      (gauge) => {
        for (const { state, count } of this.#counts) gauge.set({ state }, count);
      },
    );
    metrics.gauge(
      'activity_oldest_unacknowledged_command_seconds',
      'Age of the oldest command that is neither acknowledged nor expired; 0 if there is none',
      ['state'],
      (gauge) => {
        for (const { state, oldest } of this.#counts) {
          gauge.set({ state }, oldest ? (clock.now() - oldest.getTime()) / 1000 : 0);
        }
      },
    );
  }

  async start(): Promise<void> {
    await this.update();
    this.#timer = setInterval(() => void this.update(), INTERVAL_MS).unref();
  }

  async drain(): Promise<void> {
    clearInterval(this.#timer);
  }

  /**
   * Counts the unacknowledged commands. If the count fails, the next call also counts the commands that expired
   * meanwhile.
   */
  async update(): Promise<void> {
    const { database, clock, log } = this.#options;
    const now = new Date(clock.now());
    try {
      this.#counts = await readUnacknowledged(database, this.#countedUntil, now);
      for (const { state, expired } of this.#counts) this.#expired.inc({ state }, expired);
      this.#countedUntil = now;
    } catch (error) {
      log.warn({ err: error }, 'failed to count unacknowledged commands, will retry');
    }
  }
}
