/** Auth sends a beat once a second. After two and a half seconds without one, the stream counts as disconnected. */
export const BEAT_TIMEOUT_MS = 2_500;
/**
 * A new stream starts with the changes of the last 15 s. Between two beats less than this apart no change can therefore
 * have been missed. The remaining 5 s allow for late beats.
 */
const MAX_GAP_MS = 10_000;

/** Tracks since when this gateway has certainly received every key change. All times are Unix milliseconds. */
export class ChangeProof {
  /** All changes from this time to the last beat were received. */
  #since = Number.POSITIVE_INFINITY;
  #lastBeat = Number.NEGATIVE_INFINITY;
  #isDisconnected = true;

  /** Auth sent a beat: all changes until now were received. */
  beat(now: number): void {
    // False after a long gap, and also if the clock was set back.
    if (!isWithin(now - this.#lastBeat, MAX_GAP_MS)) this.#since = now;
    this.#lastBeat = now;
    this.#isDisconnected = false;
  }

  /** The stream has ended. Its last beat stays valid for BEAT_TIMEOUT_MS, as on a silent stream. */
  disconnect(): void {
    this.#isDisconnected = true;
  }

  /** True if changes are being received now. */
  isAlive(now: number): boolean {
    return !this.#isDisconnected && this.#isRecent(now);
  }

  /** True if data that was read at `readAt` was still current at a recent beat, unless a change of it was received. */
  covers(readAt: number, now: number): boolean {
    return readAt >= this.#since && this.#isRecent(now);
  }

  /** The last time at which data that was read at `readAt` is known to have been current. */
  confirmedAt(readAt: number): number {
    return readAt >= this.#since ? Math.max(readAt, this.#lastBeat) : readAt;
  }

  #isRecent(now: number): boolean {
    return isWithin(now - this.#lastBeat, BEAT_TIMEOUT_MS);
  }
}

/** True if a span of time is shorter than a limit. False if it is negative, because the clock was set back. */
export function isWithin(span: number, limit: number): boolean {
  return span >= 0 && span < limit;
}
