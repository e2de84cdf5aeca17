import { setTimeout as wait } from 'node:timers/promises';
import type { Part } from '../service/lifecycle.ts';
import type { Logger } from '../telemetry/log.ts';
import type { Queryable } from './pool.ts';

/** At most twenty notifications a second: those that commit queue on one lock of the whole cluster. */
const PAUSE_MS = 50;
/** While the database is away; what is told once it is back shall be heard within half a second. */
const LONGEST_PAUSE_MS = 400;
/** PostgreSQL refuses payloads of 8000 bytes. */
const MOST_BYTES = 7_999;
/** Names that wait while the database is away; whoever listens looks again by itself. */
const MOST_WAITING = 10_000;
const SEPARATOR = ',';

/** Sends NOTIFY for a process, after the commits that it tells of: names, such as guild IDs, several at once. */
export class Notifier implements Part {
  readonly name = 'notifier';
  readonly #database: Queryable;
  readonly #channel: string;
  readonly #log: Logger;
  readonly #waiting = new Set<string>();
  #sending: Promise<void> | undefined;
  readonly #stopping = new AbortController();

  constructor(database: Queryable, channel: string, log: Logger) {
    this.#database = database;
    this.#channel = channel;
    this.#log = log;
  }

  /** Tells the name soon, at once where nothing was told just now. It must not hold a comma. */
  tell(name: string): void {
    if (this.#waiting.size >= MOST_WAITING) return;
    this.#waiting.add(name);
    this.#sending ??= this.#sendAll().finally(() => (this.#sending = undefined));
  }

  /** What waits is still sent, once. */
  async drain(): Promise<void> {
    this.#stopping.abort();
    await this.#sending;
  }

  async #sendAll(): Promise<void> {
    let pause = PAUSE_MS;
    while (this.#waiting.size > 0) {
      const names = this.#take();
      try {
        await this.#database.query('SELECT pg_notify($1, $2)', [this.#channel, names.join(SEPARATOR)]);
        pause = PAUSE_MS;
      } catch (error) {
        if (pause === PAUSE_MS) this.#log.warn({ err: error, channel: this.#channel }, 'changes could not be told');
        if (this.#stopping.signal.aborted) return;
        for (const name of names) this.#waiting.add(name);
        pause = Math.min(2 * pause, LONGEST_PAUSE_MS);
      }
      await wait(pause, undefined, { ref: false, signal: this.#stopping.signal }).catch(() => undefined);
    }
  }

  /** As many names as fit. */
  #take(): string[] {
    const names: string[] = [];
    let bytes = 0;
    for (const name of this.#waiting) {
      bytes += Buffer.byteLength(name) + SEPARATOR.length;
      if (bytes > MOST_BYTES) break;
      names.push(name);
      this.#waiting.delete(name);
    }
    return names;
  }
}

/** The names in a notification of a Notifier. */
export function readNames(payload: string): string[] {
  return payload.split(SEPARATOR).filter(Boolean);
}
