import type { Part } from '#kit/lifecycle.ts';
import type { Queryable } from '#kit/postgres.ts';
import type { ActivityEvents } from '../events.ts';

export const COMMANDS_CHANNEL = 'activity_commands';
/** Stands for every guild. */
const ALL = '*';
/** At most 20 a second: commits that notify queue on one lock of the whole cluster. */
const EVERY_MS = 50;
/** PostgreSQL refuses payloads of 8000 bytes. */
const MAX_PAYLOAD_BYTES = 7_999;

/** Tells every process which guilds have new commands. A hint: who is not told looks again by himself. */
export class Notifier implements Part {
  readonly name = 'notifier';
  readonly #database: Queryable;
  readonly #events: ActivityEvents;
  readonly #guildIds = new Set<string>();
  #sending: Promise<void> = Promise.resolve();
  #pause: NodeJS.Timeout | undefined;

  constructor(database: Queryable, events: ActivityEvents) {
    this.#database = database;
    this.#events = events;
  }

  /** To be called after the commit. */
  tell(guildId: string): void {
    this.#guildIds.add(guildId);
    if (!this.#pause) this.#send();
  }

  async drain(): Promise<void> {
    await this.#sending;
  }

  #send(): void {
    const guildIds = [...this.#guildIds].join(' ');
    this.#guildIds.clear();
    this.#sending = this.#notify(guildIds.length > MAX_PAYLOAD_BYTES ? ALL : guildIds);
    this.#pause = setTimeout(() => {
      this.#pause = undefined;
      if (this.#guildIds.size > 0) this.#send();
    }, EVERY_MS);
  }

  async #notify(payload: string): Promise<void> {
    try {
      await this.#database.query('SELECT pg_notify($1, $2)', [COMMANDS_CHANNEL, payload]);
    } catch (error) {
      this.#events.notifyFailed(error);
    }
  }
}

/** The guilds that a notification names; undefined for all of them. */
export function guildsOf(payload: string): string[] | undefined {
  return payload === ALL ? undefined : payload.split(' ');
}
