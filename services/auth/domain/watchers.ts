import type { Part } from '#kit/service/lifecycle.ts';
import type { AuthEvents } from '../telemetry.ts';
import type { KeyChange } from './key.ts';

const SWEEP_EVERY_MS = 5_000;
/** A watcher that has so much still to take is cut off: it comes back and is told the latest. */
const MAX_WAITING = 10_000;

/** Whoever is told changes of keys. */
export interface Watcher {
  tell(change: KeyChange): void;
  beat(): void;
  /** How much of what it was told it has not taken yet. */
  readonly waiting: number;
  /** Aborted when it has gone. */
  signal: AbortSignal;
}

interface Watching {
  watcher: Watcher;
  /** Beats begin when it has been told the latest changes. */
  isReady: boolean;
  cut: AbortController;
}

export interface WatchersOptions {
  /** The changes of the last seconds, a page at a time. */
  recent(): AsyncIterable<KeyChange[]>;
  /** Whether changes are heard as they are made. */
  isHearing(): boolean;
  events: AuthEvents;
}

/**
 * Tells every watcher each change, and beats while it is sure to hear them all. What is heard is only a hint: every
 * five seconds the latest changes are read and told again, older versions are for the watcher to pass over.
 */
export class Watchers implements Part {
  readonly name = 'watchers';
  readonly #all = new Set<Watching>();
  readonly #options: WatchersOptions;
  #timer: NodeJS.Timeout | undefined;
  /** Whether everything that was heard has been told. */
  #isComplete = true;
  #isWanted = false;
  #sweeping: Promise<void> | undefined;

  constructor(options: WatchersOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    this.#timer = setInterval(() => void this.sweep(), SWEEP_EVERY_MS).unref();
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
  }

  /** Tells the watcher the latest changes, then whatever comes; resolves when it has gone or was too slow. */
  async watch(watcher: Watcher): Promise<void> {
    const cut = new AbortController();
    const watching: Watching = { watcher, isReady: false, cut };
    // Before the changes are read: none may fall between what is read and what is heard.
    this.#all.add(watching);
    this.#options.events.watcherCame(this.#all.size);
    try {
      for await (const changes of this.#options.recent()) for (const change of changes) watcher.tell(change);
      watching.isReady = true;
      if (this.#mayBeat) watcher.beat();
      await aborted(AbortSignal.any([watcher.signal, cut.signal]));
    } finally {
      this.#all.delete(watching);
      this.#options.events.watcherWent(this.#all.size);
    }
  }

  tell(change: KeyChange): void {
    for (const { watcher, cut } of this.#all) {
      watcher.tell(change);
      if (watcher.waiting <= MAX_WAITING) continue;
      this.#options.events.watcherWasTooSlow();
      cut.abort();
    }
  }

  beat(): void {
    if (!this.#isComplete) void this.sweep();
    for (const { watcher, isReady } of this.#all) if (isReady && this.#mayBeat) watcher.beat();
  }

  /** Something changed that could not be told: no beat before it was read. */
  async lookAgain(): Promise<void> {
    this.#isComplete = false;
    await this.sweep();
  }

  /** Reads the latest changes and tells them, one sweep at a time; while that fails there are no beats. */
  async sweep(): Promise<void> {
    this.#isWanted = true;
    this.#sweeping ??= this.#sweepWhileWanted();
    await this.#sweeping;
  }

  /** As `sweep`, for whoever can do something about a failure. */
  async tellRecent(): Promise<void> {
    if (this.#all.size === 0) return;
    for await (const changes of this.#options.recent()) for (const change of changes) this.tell(change);
  }

  async #sweepWhileWanted(): Promise<void> {
    while (this.#isWanted) {
      this.#isWanted = false;
      try {
        await this.tellRecent();
        this.#isComplete = !this.#isWanted;
      } catch (error) {
        this.#isComplete = false;
        this.#options.events.changesUnreadable(error);
      }
    }
    this.#sweeping = undefined;
  }

  get #mayBeat(): boolean {
    return this.#isComplete && this.#options.isHearing();
  }
}

/** Resolves when the signal is aborted. */
function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}
