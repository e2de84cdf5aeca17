/**
 * The readiness of a service: ready means started and not stopping. Unavailable dependencies do not change the
 * readiness.
 */
export class Readiness {
  readonly #listeners: ((ready: boolean) => void)[] = [];
  #ready = false;

  get isReady(): boolean {
    return this.#ready;
  }

  set(ready: boolean): void {
    this.#ready = ready;
    for (const listener of this.#listeners) listener(ready);
  }

  onChange(listener: (ready: boolean) => void): void {
    this.#listeners.push(listener);
  }
}
