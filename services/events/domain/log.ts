import { ApiError } from '#kit/errors.ts';
import type { Database, Transaction } from '#kit/postgres/pool.ts';
import {
  type Appended,
  appendEvents,
  appendRecorded,
  type ReadEvents,
  type ReadRequest,
  readEvents,
} from '../store/log.ts';
import { createPartitions, isMissingPartition } from '../store/partitions.ts';
import type { EventsTelemetry } from '../telemetry.ts';
import type { RecordedEvent } from './log-event.ts';

/** Called in the transaction of new events, while the guild's counter is locked. */
export type AppendHook = (
  transaction: Transaction,
  guildId: string,
  appended: { newestSeq: number; events: readonly Omit<RecordedEvent, 'number'>[] },
) => Promise<void>;

export interface EventLogOptions {
  database: Database;
  telemetry: EventsTelemetry;
  /** Called after the commit of new events of a guild. */
  appended: (guildId: string) => void;
  hooks: readonly AppendHook[];
}

/** The log of events: appends events of services, and reads them in order. */
export class EventLog {
  readonly #options: EventLogOptions;

  constructor(options: EventLogOptions) {
    this.#options = options;
  }

  /**
   * Stores events of a guild that a service recorded, in the order given, and returns how many were stored now. Events
   * with numbers up to the highest stored one were stored before and are skipped.
   */
  async append(guildId: string, service: string, events: readonly RecordedEvent[]): Promise<number> {
    const { telemetry } = this.#options;
    const stored = await this.#withPartition(guildId, () => this.#append(guildId, service, events));
    // Events are stored in the order of their numbers, so those that were stored before are the first ones.
    telemetry.appended(service, events.slice(events.length - stored), events.length - stored);
    return stored;
  }

  /** Stores events that this service itself records, in the transaction of the change. */
  async appendOwn(
    transaction: Transaction,
    guildId: string,
    events: readonly Omit<RecordedEvent, 'number'>[],
  ): Promise<void> {
    if (events.length === 0) return;
    await this.#afterInsert(transaction, guildId, events, await appendEvents(transaction, guildId, events));
  }

  /**
   * Reads events of a guild after a seq. Throws EVENTS_GONE if events after the seq are no longer retained, or if the
   * seq is above the newest one.
   */
  async read(request: ReadRequest): Promise<ReadEvents> {
    const result = await readEvents(this.#options.database, request);
    const { oldestSeq, newestSeq } = result;
    if (request.after !== null && (request.after < oldestSeq - 1 || request.after > newestSeq)) {
      throw new ApiError('EVENTS_GONE', { details: { oldest_seq: oldestSeq, newest_seq: newestSeq } });
    }
    return result;
  }

  #append(guildId: string, service: string, events: readonly RecordedEvent[]): Promise<number> {
    return this.#options.database.transaction(async (transaction) => {
      const appended = await appendRecorded(transaction, guildId, service, events);
      await this.#afterInsert(transaction, guildId, events.slice(events.length - appended.stored), appended);
      return appended.stored;
    });
  }

  async #afterInsert(
    transaction: Transaction,
    guildId: string,
    events: readonly Omit<RecordedEvent, 'number'>[],
    { lastSeq }: Appended,
  ): Promise<void> {
    if (events.length === 0) return;
    for (const hook of this.#options.hooks) await hook(transaction, guildId, { newestSeq: lastSeq, events });
    transaction.afterCommit(() => this.#options.appended(guildId));
  }

  /** Runs work again after creating the partition that it misses. Partitions are created ahead, so this is an exception. */
  async #withPartition<Result>(guildId: string, work: () => Promise<Result>): Promise<Result> {
    try {
      return await work();
    } catch (error) {
      if (!isMissingPartition(error)) throw error;
      await createPartitions(this.#options.database, 'log', 0, guildId);
      return work();
    }
  }
}
