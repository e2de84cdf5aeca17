import { type AuditOnlyType, isAudited, isAuditOnly } from '#proto/rest/events/audit.ts';
import type { EventType, NewEvent } from '#proto/rest/events/index.ts';
import type { Transaction } from '../postgres/pool.ts';
import { personsIn } from './persons.ts';
import { currentEventSource, type EventSource } from './source.ts';
import { storableJson } from './storable-json.ts';
import { MAX_BEFORE_BYTES, truncated } from './truncate.ts';

/** An event of a guild that a service records. The source is that of the current work if left out. */
export type RecordedEvent<Type extends EventType = EventType> = NewEvent<Type> & {
  guildId: string;
  source?: EventSource;
  /** The record before the change, for the audit. */
  before?: object;
};

/** A change of a guild that is only in the audit. */
export interface AuditedChange {
  guildId: string;
  type: AuditOnlyType;
  data: object;
  source?: EventSource;
  before?: object;
}

export interface EventRecorderOptions {
  /** The database schema of the service, which contains the tables `events` and `event_counters`. */
  schema: string;
  /** Called after each commit of recorded events, to relay them without waiting for the next poll. */
  wake: () => void;
}

/**
 * Records events in the transaction of the change that they report. A worker relays them to the events service in the
 * order of their numbers, which count from 1 in each guild.
 */
export class EventRecorder {
  readonly #schema: string;
  readonly #statement: string;
  readonly #wake: () => void;

  constructor({ schema, wake }: EventRecorderOptions) {
    this.#schema = schema;
    this.#statement = insertStatement(schema);
    this.#wake = wake;
  }

  /**
   * Records events of one or more guilds, in the order given. Call it as late as possible in the transaction, and once:
   * from here to the commit no other transaction can record events of the same guilds, because a number must not become
   * visible before a smaller one.
   */
  async record(transaction: Transaction, events: readonly (RecordedEvent | AuditedChange)[]): Promise<void> {
    const current = currentEventSource() ?? { kind: 'system', id: this.#schema };
    const withSource = events.map((event) => ({ ...event, source: event.source ?? current }));
    // What operators change is in the audit already.
    const wanted = withSource.filter(({ type, source }) => !isAuditOnly(type) || isAudited(type, source));
    if (wanted.length === 0) return;
    const rows = wanted.map((event) => ({
      guild_id: event.guildId,
      type: event.type,
      source: event.source,
      persons: personsIn(event),
      data: truncated(event.data),
      before: event.before && truncated(event.before, MAX_BEFORE_BYTES),
    }));
    await transaction.query(this.#statement, [storableJson(rows)]);
    transaction.afterCommit(this.#wake);
  }
}

/** Counters are locked in the order of guild IDs, so that transactions with events of several guilds do not deadlock. */
const insertStatement = (schema: string) =>
  `WITH recorded AS (
     SELECT row_number() OVER (PARTITION BY guild_id ORDER BY position) AS number, *
     FROM ROWS FROM (
       jsonb_to_recordset($1::jsonb)
         AS (guild_id text, type text, source jsonb, persons text[], data jsonb, before jsonb)
     ) WITH ORDINALITY AS event (guild_id, type, source, persons, data, before, position)
   ), counted AS (
     INSERT INTO ${schema}.event_counters AS counter (guild_id, last_number)
     SELECT guild_id, count(*) FROM recorded GROUP BY guild_id ORDER BY guild_id
     ON CONFLICT (guild_id) DO UPDATE SET last_number = counter.last_number + excluded.last_number
     RETURNING guild_id, last_number
   ), added AS (
     SELECT guild_id, count(*) AS events FROM recorded GROUP BY guild_id
   )
   INSERT INTO ${schema}.events (guild_id, number, type, source, persons, data, before)
   SELECT guild_id, last_number - events + recorded.number, type, source, persons, data, before
   FROM recorded JOIN counted USING (guild_id) JOIN added USING (guild_id)`;
