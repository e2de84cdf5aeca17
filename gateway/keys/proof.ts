/** Auth beats once a second: after two missed beats and a bit, the stream is taken for cut. */
export const SILENCE_MS = 2_500;
/**
 * A new stream begins with the changes of the last 15 s, so that nothing was missed between two beats less than this
 * apart. What is left of the 15 s is for beats that were late.
 */
const BRIDGED_MS = 10_000;

/** For which time it is certain that every change of a key was heard. All times are Unix milliseconds. */
export class ChangeProof {
  /** From here to the last beat, without a gap. */
  #since = Number.POSITIVE_INFINITY;
  #lastBeat = Number.NEGATIVE_INFINITY;
  #isCut = true;

  /** The stream beats: all changes until now were told. */
  beat(now: number): void {
    // A clock that was set back proves nothing either.
    if (!isWithin(now - this.#lastBeat, BRIDGED_MS)) this.#since = now;
    this.#lastBeat = now;
    this.#isCut = false;
  }

  /** The stream has ended. What it vouched for stands for as long as a silent one's would. */
  cut(): void {
    this.#isCut = true;
  }

  /** Whether changes are being heard now. */
  isAlive(now: number): boolean {
    return !this.#isCut && this.#isRecent(now);
  }

  /** Whether what was read at `readAt` was current at a recent beat. */
  covers(readAt: number, now: number): boolean {
    return readAt >= this.#since && this.#isRecent(now);
  }

  /** The last time at which what was read at `readAt` is known to have been current. */
  confirmedAt(readAt: number): number {
    return readAt >= this.#since ? Math.max(readAt, this.#lastBeat) : readAt;
  }

  #isRecent(now: number): boolean {
    return isWithin(now - this.#lastBeat, SILENCE_MS);
  }
}

/** Whether a span of time is shorter than a limit; never, when the clock was set back meanwhile. */
export function isWithin(span: number, limit: number): boolean {
  return span >= 0 && span < limit;
}
