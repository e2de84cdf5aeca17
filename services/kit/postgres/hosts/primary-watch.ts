import { setTimeout as wait } from 'node:timers/promises';
import type { Counter } from 'prom-client';
import { backoffMs } from '../../resilience/backoff.ts';
import type { Logger } from '../../telemetry/log.ts';
import { withoutTrace } from '../../telemetry/tracing/current-span.ts';
import { NoPrimaryError, type PrimaryFinder } from './primary-finder.ts';
import { hostOf } from './url.ts';

/**
 * The pause in milliseconds between two searches, shortened at random by up to half, so that processes do not ask at the
 * same time. Without any fault a search finds an old primary that is cut off from the other servers: reads on it succeed.
 */
const CHECK_EVERY_MS = { minMs: 4_000, maxMs: 4_000 };
/** The pause after a search without a result, or in which the last primary is in doubt. */
const BACKOFF = { minMs: 150, maxMs: 1_000 };
/**
 * The pause after a search that found a primary, however many statements fail or are slow. It grows while searches only
 * confirm the primary: a server that is slow because it is overloaded must not get slower.
 */
const MIN_PAUSE_MS = { minMs: 1_000, maxMs: 4_000 };

export interface PrimaryWatchOptions {
  finder: PrimaryFinder;
  log: Logger;
  /** Counts how often the primary has moved from one host to another. */
  switches: Counter;
  /** Called with the URL of a new primary, and with undefined when the last one no longer accepts writes. */
  onChange(url: string | undefined): void;
}

/** Follows the primary among several hosts, from the first call of `ready`. */
export class PrimaryWatch {
  readonly #options: PrimaryWatchOptions;
  readonly #stopped = new AbortController();
  #current: string | undefined;
  /** The last primary, also while there is none. */
  #last: string | undefined;
  #failures = 0;
  /** The number of searches in a row that were made because of a doubt and confirmed the primary. */
  #confirmed = 0;
  #error: unknown;
  #isDoubted = false;
  #pause = new AbortController();
  #first: Promise<void> | undefined;

  constructor(options: PrimaryWatchOptions) {
    this.#options = options;
  }

  /** Resolves if a primary is known. Throws the error of the last search otherwise; only the first search is awaited. */
  async ready(): Promise<void> {
    if (this.#current !== undefined) return;
    this.#first ??= withoutTrace(() => this.#begin());
    await this.#first;
    if (this.#current === undefined) throw this.#error;
  }

  /** Searches again soon, because a statement or a connection has failed or is slow. */
  doubt(): void {
    this.#isDoubted = true;
    this.#pause.abort();
  }

  stop(): void {
    this.#stopped.abort();
  }

  async #begin(): Promise<void> {
    await this.#search();
    void this.#run();
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopped;
    const pause = (milliseconds: number, until: AbortSignal) =>
      wait(milliseconds, undefined, { ref: false, signal: until }).catch(() => undefined);
    while (!signal.aborted) {
      this.#pause = new AbortController();
      if (this.#failures > 0) await pause(backoffMs(this.#failures, BACKOFF), signal);
      else {
        await pause(backoffMs(this.#confirmed + 1, MIN_PAUSE_MS), signal);
        const until = AbortSignal.any([signal, this.#pause.signal]);
        if (!this.#isDoubted) await pause(backoffMs(1, CHECK_EVERY_MS), until);
      }
      if (!signal.aborted) await this.#search();
    }
  }

  async #search(): Promise<void> {
    const wasDoubted = this.#isDoubted;
    this.#isDoubted = false;
    try {
      const url = await this.#options.finder.find();
      this.#failures = 0;
      this.#confirmed = wasDoubted && url === this.#current ? this.#confirmed + 1 : 0;
      if (url !== this.#current) this.#found(url);
    } catch (error) {
      this.#failures++;
      this.#error = error;
      const isGone =
        error instanceof NoPrimaryError && this.#current !== undefined && error.rejected.has(hostOf(this.#current));
      if (this.#failures === 1) this.#options.log.warn({ err: error }, 'no host of PostgreSQL accepts writes');
      if (isGone) this.#change(undefined);
    }
  }

  #found(url: string): void {
    const { log, switches } = this.#options;
    if (this.#last !== undefined && this.#last !== url) switches.inc();
    log.info({ host: hostOf(url) }, 'using the host of PostgreSQL that accepts writes');
    this.#last = url;
    this.#change(url);
  }

  #change(url: string | undefined): void {
    this.#current = url;
    if (!this.#stopped.signal.aborted) this.#options.onChange(url);
  }
}
