/**
 * The auth service sends a heartbeat once a second. After this many milliseconds without a heartbeat, the
 * stream of key changes counts as disconnected.
 */
export const BEAT_TIMEOUT_MS = 2_500;
/**
 * The maximum time between two heartbeats in which no key change can have been missed, even over a reconnect: a new
 * stream starts with the changes of the last 15 s, and the remaining 5 s allow for late heartbeats.
 */
const MAX_GAP_MS = 10_000;

/** Knows since when this gateway has certainly received every change of an API key. All times are Unix milliseconds. */
export class ChangeProof {
  /** This gateway has received all key changes from this time to the last heartbeat. */
  #since = Number.POSITIVE_INFINITY;
  #lastBeat = Number.NEGATIVE_INFINITY;
  #isDisconnected = true;

  /**
   * Called when the auth service sends a heartbeat, which confirms that all key changes until now were
   * received.
   */
  beat(now: number): void {
    // After a long gap between heartbeats, or if the clock was set back, key changes may have been missed.
    if (!isWithin(now - this.#lastBeat, MAX_GAP_MS)) this.#since = now;
    this.#lastBeat = now;
    this.#isDisconnected = false;
  }

  /**
   * Called when the stream of key changes has ended. Its last heartbeat stays valid for BEAT_TIMEOUT_MS, as on a silent
   * stream.
   */
  disconnect(): void {
    this.#isDisconnected = true;
  }

  /** True if the stream of key changes is alive now. */
  isAlive(now: number): boolean {
    return !this.#isDisconnected && this.#isRecent(now);
  }

  /**
   * True if a grant read at `readAt` was still current at a recent heartbeat, unless a change of that API key was
   * received.
   */
  covers(readAt: number, now: number): boolean {
    return readAt >= this.#since && this.#isRecent(now);
  }

  /** Returns the last time at which a grant that was read at `readAt` is known to have been current. */
  confirmedAt(readAt: number): number {
    return readAt >= this.#since ? Math.max(readAt, this.#lastBeat) : readAt;
  }

  #isRecent(now: number): boolean {
    return isWithin(now - this.#lastBeat, BEAT_TIMEOUT_MS);
  }
}

/** True if a time span is shorter than a limit. False if the span is negative, because the clock was set back. */
export function isWithin(span: number, limit: number): boolean {
  return span >= 0 && span < limit;
}
