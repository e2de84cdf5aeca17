import type { EventType, NewEvent } from '#proto/rest/events/index.ts';
import type { Transaction } from '../postgres/pool.ts';
import { personsIn } from './persons.ts';
import { currentEventSource, type EventSource } from './source.ts';
import { storableJson } from './storable-json.ts';
import { truncated } from './truncate.ts';

/** An event of a guild that a service records. The source is that of the current work if left out. */
export type RecordedEvent<Type extends EventType = EventType> = NewEvent<Type> & {
  guildId: string;
  source?: EventSource;
};

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
  async record(transaction: Transaction, events: readonly RecordedEvent[]): Promise<void> {
    if (events.length === 0) return;
    const source = currentEventSource() ?? { kind: 'system', id: this.#schema };
    const rows = events.map((event) => ({
      guild_id: event.guildId,
      type: event.type,
      source: event.source ?? source,
      persons: personsIn(event),
      data: truncated(event.data),
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
       jsonb_to_recordset($1::jsonb) AS (guild_id text, type text, source jsonb, persons text[], data jsonb)
     ) WITH ORDINALITY AS event (guild_id, type, source, persons, data, position)
   ), counted AS (
     INSERT INTO ${schema}.event_counters AS counter (guild_id, last_number)
     SELECT guild_id, count(*) FROM recorded GROUP BY guild_id ORDER BY guild_id
     ON CONFLICT (guild_id) DO UPDATE SET last_number = counter.last_number + excluded.last_number
     RETURNING guild_id, last_number
   ), added AS (
     SELECT guild_id, count(*) AS events FROM recorded GROUP BY guild_id
   )
   INSERT INTO ${schema}.events (guild_id, number, type, source, persons, data)
   SELECT guild_id, last_number - events + recorded.number, type, source, persons, data
   FROM recorded JOIN counted USING (guild_id) JOIN added USING (guild_id)`;
