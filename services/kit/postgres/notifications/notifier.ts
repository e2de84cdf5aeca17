import { setTimeout as wait } from 'node:timers/promises';
import { backoffMs } from '../../resilience/backoff.ts';
import type { Part } from '../../service/lifecycle.ts';
import type { Logger } from '../../telemetry/log.ts';
import { withoutTrace } from '../../telemetry/tracing/current-span.ts';
import type { Queryable } from '../pool.ts';

/**
 * The minimum interval between two notifications in milliseconds. Only twenty per second are sent, because each
 * transaction that sends one takes a lock of the whole database cluster when it commits.
 */
const INTERVAL_MS = 50;
/**
 * The delays between attempts while the database is unavailable. The maximum is short, so that waiting notifications
 * are sent within half a second of the database's return.
 */
const BACKOFF = { minMs: 100, maxMs: 400, jitter: 0 };
/** The maximum size of a notification payload in bytes; PostgreSQL rejects payloads from 8000 bytes. */
const MAX_BYTES = 7_999;
/**
 * The maximum number of names that wait for the next notification. Further names are dropped: listeners that poll learn of
 * the change later, and caches keep the old value until it expires.
 */
const MAX_WAITING = 10_000;
const SEPARATOR = ',';

export interface NotifierOptions {
  database: Queryable;
  channel: string;
  log: Logger;
  /** Sends a payload; by default in a database notification. */
  send?: (payload: string) => Promise<unknown>;
}

/** Sends a database notification. */
export function notifyDatabase(database: Queryable, channel: string, payload: string): Promise<unknown> {
  return database.query('SELECT pg_notify($1, $2)', [channel, payload]);
}

/**
 * Sends PostgreSQL notifications (NOTIFY) after commits, or messages of Redis instead. The payload of each is a list of
 * names, such as IDs of guilds whose data has changed.
 */
export class Notifier implements Part {
  readonly name = 'notifier';
  readonly #send: (payload: string) => Promise<unknown>;
  readonly #channel: string;
  readonly #log: Logger;
  readonly #waiting = new Set<string>();
  #sending: Promise<void> | undefined;
  readonly #stopping = new AbortController();

  constructor({ database, channel, log, send }: NotifierOptions) {
    this.#send = send ?? ((payload) => notifyDatabase(database, channel, payload));
    this.#channel = channel;
    this.#log = log;
  }

  /**
   * Sends a name in a database notification: immediately, or 50 ms after the previous one. The name must not contain a
   * comma.
   */
  notify(name: string): void {
    if (this.#waiting.size >= MAX_WAITING) return;
    this.#waiting.add(name);
    // The names that follow come from other requests.
    this.#sending ??= withoutTrace(() => this.#sendAll()).finally(() => (this.#sending = undefined));
  }

  /**
   * Sends the names that still wait for the next database notification. Called when the process stops. After a failed
   * attempt the remaining names are dropped.
   */
  async drain(): Promise<void> {
    this.#stopping.abort();
    await this.#sending;
  }

  async #sendAll(): Promise<void> {
    let failures = 0;
    while (this.#waiting.size > 0) {
      const names = this.#take();
      try {
        await this.#send(joinNames(names));
        failures = 0;
      } catch (error) {
        failures++;
        if (failures === 1) {
          const fields = { err: error, channel: this.#channel };
          this.#log.warn(fields, 'failed to notify other processes of changes, they learn of them later');
        }
        if (this.#stopping.signal.aborted) return;
        for (const name of names) this.#waiting.add(name);
      }
      const pause = failures === 0 ? INTERVAL_MS : backoffMs(failures, BACKOFF);
      await wait(pause, undefined, { ref: false, signal: this.#stopping.signal }).catch(() => undefined);
    }
  }

  /** Removes as many waiting names as fit into one database notification from the waiting names, and returns them. */
  #take(): string[] {
    const names: string[] = [];
    let bytes = 0;
    for (const name of this.#waiting) {
      bytes += Buffer.byteLength(name) + SEPARATOR.length;
      if (bytes > MAX_BYTES) break;
      names.push(name);
      this.#waiting.delete(name);
    }
    return names;
  }
}

/** Parses the names in the payload of a notification that a Notifier has sent. */
export function readNames(payload: string): string[] {
  return payload.split(SEPARATOR).filter(Boolean);
}

/** Returns the payload with these names. */
export const joinNames = (names: readonly string[]) => names.join(SEPARATOR);
