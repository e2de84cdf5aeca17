/**
 * Shares one call among concurrent callers with the same key. Results are not cached: after the call a new caller makes
 * a new one.
 */
export class SingleFlight<Value> {
  readonly #inFlight = new Map<string, Promise<Value>>();

  run(key: string, work: () => Promise<Value>): Promise<Value> {
    const inFlight = this.#inFlight.get(key);
    if (inFlight) return inFlight;
    // The async function turns an error that `work` throws synchronously into a rejection, which all callers share.
    const call = (async () => work())().finally(() => this.#inFlight.delete(key));
    this.#inFlight.set(key, call);
    return call;
  }
}
