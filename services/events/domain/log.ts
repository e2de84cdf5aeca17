import { ApiError } from '#kit/errors.ts';
import type { Database, Transaction } from '#kit/postgres/pool.ts';
import { isAuditOnly } from '#proto/rest/events/audit.ts';
import { insertAuditEntries } from '../store/audit-entries.ts';
import { appendOwnEvents, appendRecorded, type ReadEvents, type ReadRequest, readEvents } from '../store/log.ts';
import { createPartitions, isMissingPartition } from '../store/partitions.ts';
import type { EventsTelemetry } from '../telemetry/log.ts';
import { auditEntriesOf } from './audit-entry.ts';
import type { OwnEvent, RecordedEvent } from './log-event.ts';

/** The new events of a guild. */
export interface AppendedEvents {
  guildId: string;
  /** The seq of the last one. */
  newestSeq: number;
  events: readonly OwnEvent[];
}

/** Called in the transaction of new events of some guilds, while the counters of these guilds are locked. */
export type AppendHook = (transaction: Transaction, appended: readonly AppendedEvents[]) => Promise<void>;

export interface EventLogOptions {
  database: Database;
  telemetry: EventsTelemetry;
  /** Called after the commit of new events of some guilds. */
  appended: (guildIds: readonly string[]) => void;
  hooks: readonly AppendHook[];
}

/** The log of events: appends events of services, and reads them in order. */
export class EventLog {
  readonly #options: EventLogOptions;

  constructor(options: EventLogOptions) {
    this.#options = options;
  }

  /**
   * Stores events that a service recorded, those of each guild in the order given, and returns how many were stored now.
   * Events with numbers up to the highest stored one of the guild and service were stored before and are skipped.
   */
  async append(service: string, events: readonly RecordedEvent[]): Promise<number> {
    const fresh = await this.#withPartition(events, () => this.#append(service, events));
    this.#options.telemetry.appended(service, fresh, events.length - fresh.length);
    return fresh.length;
  }

  /** Stores events that this service itself records, in the transaction of the change. */
  async appendOwn(transaction: Transaction, guildId: string, events: readonly OwnEvent[]): Promise<void> {
    if (events.length === 0) return;
    const [appended] = await appendOwnEvents(transaction, guildId, events);
    if (appended) await this.#afterInsert(transaction, [{ guildId, newestSeq: appended.lastSeq, events }]);
    await this.audit(
      transaction,
      'events',
      events.map((event) => ({ ...event, guildId })),
    );
  }

  /** Stores the entries for the audit of those events that belong there, in the transaction of the change. */
  async audit(
    transaction: Transaction,
    service: string,
    events: readonly (OwnEvent & { guildId: string })[],
  ): Promise<void> {
    const entries = auditEntriesOf(service, events);
    if (entries.length > 0) await insertAuditEntries(transaction, entries);
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

  /** Returns the events that were not stored before, with those that are for the audit only and have no seq. */
  #append(service: string, events: readonly RecordedEvent[]): Promise<RecordedEvent[]> {
    return this.#options.database.transaction(async (transaction) => {
      const guilds = await appendRecorded(transaction, service, events);
      const before = new Map(guilds.map(({ guildId, previousNumber }) => [guildId, previousNumber]));
      const fresh = events.filter(({ guildId, number }) => number > (before.get(guildId) ?? 0));
      const appended = guilds.flatMap(({ guildId, lastSeq }) => {
        const logged = fresh.filter((event) => event.guildId === guildId && !isAuditOnly(event.type));
        return lastSeq === null ? [] : { guildId, newestSeq: lastSeq, events: logged };
      });
      await this.#afterInsert(transaction, appended);
      await this.audit(transaction, service, fresh);
      return fresh;
    });
  }

  async #afterInsert(transaction: Transaction, appended: readonly AppendedEvents[]): Promise<void> {
    if (appended.length === 0) return;
    for (const hook of this.#options.hooks) await hook(transaction, appended);
    transaction.afterCommit(() => this.#options.appended(appended.map(({ guildId }) => guildId)));
  }

  /** Runs work again after creating the partitions that it misses. They are created ahead, so this is an exception. */
  async #withPartition<Result>(events: readonly RecordedEvent[], work: () => Promise<Result>): Promise<Result> {
    try {
      return await work();
    } catch (error) {
      if (!isMissingPartition(error)) throw error;
      const guildIds = [...new Set(events.map(({ guildId }) => guildId))];
      await createPartitions(this.#options.database, 'log', 0, guildIds);
      return work();
    }
  }
}
