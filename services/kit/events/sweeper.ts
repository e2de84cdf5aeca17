import type { LoopLease, LoopLeases } from '../leases/loop-leases.ts';
import type { Part } from '../service/lifecycle.ts';
import type { Logger } from '../telemetry/log.ts';

/** The mean time between two sweeps in milliseconds; each wait varies by plus or minus a half. */
const INTERVAL_MS = 1_500;

/** A search for rows whose time has come, such as expiries, and which are reported as events. */
export interface EventSweep {
  /** The name of the sweep in log lines. */
  name: string;
  /**
   * Claims a batch of due rows, the longest due first, and records their events in the same transaction. Returns true
   * if more rows may be due.
   */
  sweep(): Promise<boolean>;
  /** True if rows with leases of their own divide the work among all replicas. */
  isShared?: boolean;
}

export interface EventSweeperOptions {
  sweeps: readonly EventSweep[];
  leases: LoopLeases;
  log: Logger;
}

/**
 * Runs the sweeps of a process every few seconds, and again immediately while a sweep finds full batches. The sweeps
 * run independently: a backlog of one does not delay the others. A sweep runs on one replica, unless it is shared; where two
 * overlap, row locks keep them apart.
 */
export class EventSweeper implements Part {
  readonly name = 'event sweeper';
  readonly #loops: readonly SweepLoop[];

  constructor({ sweeps, leases, log }: EventSweeperOptions) {
    this.#loops = sweeps.map((sweep) => new SweepLoop(sweep, sweep.isShared ? SHARED : leases.of(sweep.name), log));
  }

  async start(): Promise<void> {
    for (const loop of this.#loops) loop.schedule();
  }

  async drain(): Promise<void> {
    await Promise.all(this.#loops.map((loop) => loop.stop()));
  }
}

const SHARED: LoopLease = { isHeld: true };

class SweepLoop {
  readonly #sweep: EventSweep;
  readonly #lease: LoopLease;
  readonly #log: Logger;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;
  #isStopped = false;
  #hasFailed = false;

  constructor(sweep: EventSweep, lease: LoopLease, log: Logger) {
    this.#sweep = sweep;
    this.#lease = lease;
    this.#log = log;
  }

  schedule(): void {
    if (this.#isStopped) return;
    this.#timer = setTimeout(
      () => {
        this.#running = this.#run().finally(() => this.schedule());
      },
      INTERVAL_MS * (0.5 + Math.random()),
    ).unref();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    await this.#running;
  }

  async #run(): Promise<void> {
    try {
      let mayFindMore = true;
      while (mayFindMore && !this.#isStopped && this.#lease.isHeld) mayFindMore = await this.#sweep.sweep();
      this.#hasFailed = false;
    } catch (error) {
      // Logs only the first failure of an outage, because every sweep fails until the outage ends.
      if (!this.#hasFailed)
        this.#log.warn({ err: error, sweep: this.#sweep.name }, 'periodic sweep failed, will retry');
      this.#hasFailed = true;
    }
  }
}
