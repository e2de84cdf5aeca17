import { setTimeout as wait } from 'node:timers/promises';
import type { Writer } from '../writer.ts';
import type { ReadEvent } from './lines.ts';

/** Keeps the number of requests below the rate limit of a key. */
const PAUSE_MS = 400;
const WAIT_SECONDS = 5;

/** Reads the events of a guild by polling, from the first one on, and notes where `seq` is not the next number. */
export class Poller {
  readonly events: ReadEvent[] = [];
  /** Where `seq` had a gap or went backwards. */
  readonly faults: string[] = [];
  readonly #writer: Writer;
  readonly #guild: string;

  constructor(writer: Writer, guild: string) {
    this.#writer = writer;
    this.#guild = guild;
  }

  /** Polls until `signal` is aborted. The key must see all types, because other events would be missing. */
  async run(signal: AbortSignal): Promise<void> {
    let after = 0;
    while (!signal.aborted) {
      const page = await this.#writer.get(this.#guild, `/events?after=${after}&wait=${WAIT_SECONDS}`);
      for (const event of page.events as ReadEvent[]) this.#add(event);
      after = page.next_after;
      const last = this.events.at(-1)?.seq ?? 0;
      if (after !== last) this.faults.push(`next_after is ${after} after seq ${last}`);
      await wait(PAUSE_MS);
    }
  }

  #add(event: ReadEvent): void {
    const last = this.events.at(-1)?.seq ?? 0;
    if (event.seq !== last + 1) this.faults.push(`seq ${event.seq} after ${last}`);
    this.events.push(event);
  }
}

/** Reads all events of a guild from the start. */
export async function readAll(writer: Writer, guild: string): Promise<ReadEvent[]> {
  const events: ReadEvent[] = [];
  for (;;) {
    const page = await writer.get(guild, `/events?after=${events.at(-1)?.seq ?? 0}`);
    if (page.events.length === 0) return events;
    events.push(...page.events);
  }
}
