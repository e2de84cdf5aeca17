/** The time in milliseconds without a probe after which a process counts as lost although Redis did not notice. */
const SILENCE_MS = 5_000;

/**
 * Notices when another process stops receiving: Redis closes the connections of a dead process immediately, and reports
 * with each message how many have received it.
 */
export class RedisPeers {
  readonly #seen = new Map<string, number>();
  #receivers = 0;
  #wereLostBefore = false;

  /** Records a probe of a process, at a time of the monotonic clock. */
  saw(peer: string, now: number): void {
    this.#seen.set(peer, now);
  }

  /**
   * Returns true if a process disappeared since the last call or the call before: its last commit may still have been in
   * progress. `receivers` is the number of processes that received the last probe of this one.
   */
  wereLost(receivers: number, now: number): boolean {
    const silent = [...this.#seen].filter(([, seenAt]) => now - seenAt > SILENCE_MS);
    for (const [peer] of silent) this.#seen.delete(peer);
    const areLost = silent.length > 0 || receivers < Math.max(this.#receivers, this.#seen.size);
    // Those that are left are seen again within a second.
    if (areLost) this.#seen.clear();
    const result = areLost || this.#wereLostBefore;
    this.#receivers = receivers;
    this.#wereLostBefore = areLost;
    return result;
  }
}
