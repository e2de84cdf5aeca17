/** Shares one call among concurrent callers of the same key. Results are not cached: the next caller calls again. */
export class SingleFlight<Value> {
  readonly #inFlight = new Map<string, Promise<Value>>();

  run(key: string, work: () => Promise<Value>): Promise<Value> {
    const inFlight = this.#inFlight.get(key);
    if (inFlight) return inFlight;
    // The async function turns an error that is thrown synchronously into a rejection, which all callers share.
    const call = (async () => work())().finally(() => this.#inFlight.delete(key));
    this.#inFlight.set(key, call);
    return call;
  }
}
