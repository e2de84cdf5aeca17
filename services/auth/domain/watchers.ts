import { once } from 'node:events';
import type { Part } from '#kit/service/lifecycle.ts';
import type { AuthTelemetry } from '../telemetry.ts';
import type { KeyChange } from './key.ts';

const SWEEP_INTERVAL_MS = 5_000;
/**
 * The maximum number of unsent messages of a watcher. A watcher with more is disconnected, reconnects, and receives the
 * recent key changes again.
 */
const MAX_UNSENT = 10_000;

/** A connected gateway that receives key changes over a gRPC stream. */
export interface Watcher {
  sendChange(change: KeyChange): void;
  sendBeat(): void;
  /** The number of messages that wait to be sent, because the gateway receives them too slowly. */
  readonly unsent: number;
  /** Aborted when the gateway disconnects. */
  signal: AbortSignal;
}

interface WatcherState {
  watcher: Watcher;
  /** True once the watcher has received the recent key changes. The watcher gets no heartbeats before. */
  isReady: boolean;
  disconnect: AbortController;
}

export interface WatchersOptions {
  /** Yields pages of the key changes of the last 15 seconds. */
  readRecentChanges(): AsyncIterable<KeyChange[]>;
  /** True while notifications of key changes arrive from the database. */
  isReceivingNotifications(): boolean;
  telemetry: AuthTelemetry;
}

/**
 * Sends every API key change to all connected gateways (watchers), and heartbeats as long as no change can have been
 * missed. A notification can be lost, so the recent changes are read and sent again every five seconds; watchers ignore
 * versions that they know.
 */
export class Watchers implements Part {
  readonly name = 'watchers';
  readonly #all = new Set<WatcherState>();
  readonly #options: WatchersOptions;
  #timer: NodeJS.Timeout | undefined;
  /** False while a key change may not have been sent to the watchers. */
  #isComplete = true;
  #isSweepRequested = false;
  #sweeping: Promise<void> | undefined;

  constructor(options: WatchersOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    this.#timer = setInterval(() => void this.sweep(), SWEEP_INTERVAL_MS).unref();
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
  }

  /**
   * Sends the recent key changes to the watcher, then every new one. Resolves when the watcher disconnects or receives
   * too slowly.
   */
  async watch(watcher: Watcher): Promise<void> {
    const state: WatcherState = { watcher, isReady: false, disconnect: new AbortController() };
    // The watcher is added before the recent key changes are read, so that no change in between is missed.
    this.#all.add(state);
    this.#options.telemetry.watcherConnected(this.#all.size);
    try {
      for await (const changes of this.#options.readRecentChanges()) {
        for (const change of changes) watcher.sendChange(change);
      }
      state.isReady = true;
      if (this.#canBeat) watcher.sendBeat();
      await aborted(AbortSignal.any([watcher.signal, state.disconnect.signal]));
    } finally {
      this.#all.delete(state);
      this.#options.telemetry.watcherDisconnected(this.#all.size);
    }
  }

  /** Sends a key change to all watchers, and disconnects watchers that receive too slowly. */
  sendChange(change: KeyChange): void {
    for (const { watcher, disconnect } of this.#all) {
      watcher.sendChange(change);
      if (watcher.unsent <= MAX_UNSENT) continue;
      this.#options.telemetry.watcherTooSlow();
      disconnect.abort();
    }
  }

  /**
   * Sends a heartbeat to all watchers that have received the recent changes, unless a key change may have been missed.
   */
  sendBeat(): void {
    if (!this.#isComplete) void this.sweep();
    for (const { watcher, isReady } of this.#all) if (isReady && this.#canBeat) watcher.sendBeat();
  }

  /**
   * Reads the recent key changes, because a notification could not be decoded. No heartbeats are sent until this
   * succeeds.
   */
  async rereadRecentChanges(): Promise<void> {
    this.#isComplete = false;
    await this.sweep();
  }

  /**
   * Reads the recent key changes and sends them to all watchers, one sweep at a time. After a failure no heartbeats are
   * sent until a sweep succeeds.
   */
  async sweep(): Promise<void> {
    this.#isSweepRequested = true;
    this.#sweeping ??= this.#sweepWhileRequested();
    await this.#sweeping;
  }

  /** Reads the recent key changes and sends them to all watchers. Rejects if the changes cannot be read. */
  async sendRecentChanges(): Promise<void> {
    if (this.#all.size === 0) return;
    for await (const changes of this.#options.readRecentChanges()) {
      for (const change of changes) this.sendChange(change);
    }
  }

  async #sweepWhileRequested(): Promise<void> {
    while (this.#isSweepRequested) {
      this.#isSweepRequested = false;
      try {
        await this.sendRecentChanges();
        this.#isComplete = !this.#isSweepRequested;
      } catch (error) {
        this.#isComplete = false;
        this.#options.telemetry.recentChangesUnreadable(error);
      }
    }
    this.#sweeping = undefined;
  }

  get #canBeat(): boolean {
    return this.#isComplete && this.#options.isReceivingNotifications();
  }
}

/** Resolves when the signal is aborted. */
async function aborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, 'abort');
}
