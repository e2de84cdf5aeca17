import { performance } from 'node:perf_hooks';
import { InconclusiveError } from './breaker.ts';

/** How long after its first call a service that was never connected is assumed to be starting, in milliseconds. */
const START_MS = 10_000;

/** The cause of a call that failed because the first connection to the service was not made yet. */
export class NotConnectedYet extends InconclusiveError {}

/**
 * Whether the first connection to a service is still to be made. Processes that start together need each other before all
 * of them are ready: calls that begin in the ten seconds after the first one wait for a connection, and do not open the
 * circuit breaker.
 */
export class FirstConnection {
  /** performance.now() */
  #startsUntil: number | undefined;
  #wasMade = false;

  /** The service was connected. */
  made(): void {
    this.#wasMade = true;
  }

  /**
   * True if the service was never connected and may still be starting. The ten seconds begin when this is first read: each
   * call reads it before it waits for a connection.
   */
  get isAwaited(): boolean {
    if (this.#wasMade) return false;
    this.#startsUntil ??= performance.now() + START_MS;
    return performance.now() < this.#startsUntil;
  }
}
