import { performance } from 'node:perf_hooks';

/**
 * How long one run works for a guild, in milliseconds. The members of a large guild take hours, and the guilds that wait
 * for a slot of the queue must not wait for all of them.
 */
const SLICE_MS = 30_000;

/** The time of one run through the members of a guild, which ends early if this process must stop. */
export class TimeSlice {
  readonly #signal: AbortSignal;
  readonly #milliseconds: number;
  readonly #endsAt: number;
  #hasProgress = false;

  constructor(signal: AbortSignal, milliseconds = SLICE_MS) {
    this.#signal = signal;
    this.#milliseconds = milliseconds;
    this.#endsAt = performance.now() + milliseconds;
  }

  /** True if the run must end before its next step, and continue later at its stored position. */
  get isOver(): boolean {
    // Without progress the time does not end a run: with slow platforms it would otherwise begin again and again.
    return this.#signal.aborted || (this.#hasProgress && performance.now() >= this.#endsAt);
  }

  /** Returns the time of a part of the run, which is as long and begins now: the run may last twice as long with it. */
  ofPart(): TimeSlice {
    return new TimeSlice(this.#signal, this.#milliseconds);
  }

  /** Must be called whenever the run has stored its progress. */
  advanced(): void {
    this.#hasProgress = true;
  }
}
