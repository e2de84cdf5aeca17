import type { AppendEventsRequest } from '#proto/gen/guild/events/v1/events.ts';
import { asApiError, isServerError } from '../errors.ts';
import type { ErasureRule, UserColumn } from '../personal-data/erasure-rules.ts';
import { byGuild, guildOf, guildStatement } from '../postgres/citus/by-guild.ts';
import type { Database } from '../postgres/pool.ts';
import { NO_LIMITS, type QueueDefinition, type QueueTable } from '../queue/definition.ts';
import type { EventSource } from './source.ts';

/** The name of the queue of recorded events in metrics, logs and guildctl. */
export const EVENTS_QUEUE = 'events';

/** The maximum number of events, and of guilds, that are relayed together. */
const MAX_BATCH = 100;
/** The maximum size of the events of one call, well below the size limit of a gRPC message (1 MiB). */
const MAX_CALL_BYTES = 768 * 1024;
/** The size of an event in a call besides its data and its persons, at most. */
const EVENT_BYTES = 1_200;
/** The maximum number of calls of a process at the same time; fewer than it has database connections. */
const CONCURRENCY = 3;
const LEASE_MS = 10_000;
const HANDLE_MS = 5_000;

export interface EventRelayOptions {
  /** The database schema of the service, which contains the table `events`. It is also the name of the service. */
  schema: string;
  database: Database;
  /** Stores events in the events service; a repeated call stores nothing twice. */
  append: (request: AppendEventsRequest) => Promise<unknown>;
}

interface RecordedRow {
  guildId: string;
  number: number;
  id: string;
  type: string;
  createdAtMs: number;
  source: EventSource;
  persons: string[];
  data: string;
  before: string | null;
}

/**
 * The queue that relays a service's recorded events to the events service, in order per guild. Its worker leases the
 * oldest events of many guilds, which keeps other processes from relaying events of these guilds, and relays the events
 * after them in the same call. An event never becomes a dead letter, because later events must not overtake it.
 */
export function eventRelay({ schema, database, append }: EventRelayOptions): QueueDefinition {
  const select = guildStatement(
    3,
    (andGuild) => `SELECT event.* FROM unnest($1::text[], $2::bigint[]) AS head (guild_id, number), LATERAL (
      SELECT guild_id AS "guildId", number, event_id AS id, type, source, persons, data::text AS data,
        before::text AS before,
        (extract(epoch FROM created_at) * 1000)::bigint AS "createdAtMs"
      FROM ${schema}.events
      WHERE guild_id = head.guild_id ${andGuild('events')} AND number >= head.number
        AND finished_at IS NULL AND state = 'queued'
      ORDER BY number LIMIT $3) AS event`,
  );
  // LATERAL finds each row by the primary key, whatever the statistics of a table that is often empty suggest.
  const deletion = guildStatement(
    2,
    (andGuild) => `DELETE FROM ${schema}.events WHERE ctid = ANY(ARRAY(
      SELECT event.ctid FROM unnest($1::text[], $2::bigint[]) AS relayed (guild_id, number), LATERAL (
        SELECT ctid FROM ${schema}.events
        WHERE guild_id = relayed.guild_id ${andGuild('events')} AND number = relayed.number LIMIT 1
      ) AS event)) ${andGuild('events')}`,
  );
  const relay = async (events: readonly RecordedRow[]) => {
    await append({ service: schema, events: events.map((event) => ({ ...event, before: event.before ?? undefined })) });
    await byGuild(database, events, guildOf, (part, run) =>
      run(deletion, [part.map(guildOf), part.map(({ number }) => number)]),
    );
  };
  return {
    name: EVENTS_QUEUE,
    table: eventsTable(schema),
    ordered: true,
    concurrency: CONCURRENCY,
    maxBatch: MAX_BATCH,
    leaseMs: LEASE_MS,
    handleMs: HANDLE_MS,
    handlerFinishes: true,
    retry: { isPermanent: () => false, limits: NO_LIMITS },
    async handle(item, others) {
      const heads = [item, ...others];
      const perGuild = Math.floor(MAX_BATCH / heads.length);
      const events = await byGuild(database, heads, guildOf, (part, run) =>
        run<RecordedRow>(select, [part.map(guildOf), part.map(({ id }) => id), perGuild]),
      );
      if (events.length === 0) return;
      for (const part of inParts(events)) {
        for (let count = part.length; ; count = Math.floor(count / 2)) {
          try {
            await relay(part.slice(0, count));
          } catch (error) {
            // The queue shows the error at the event that is rejected: the events of the guild before it are relayed.
            if (others.length > 0 || count === 1 || isServerError(asApiError(error))) throw error;
            continue;
          }
          if (count < part.length) return;
          break;
        }
      }
    },
  };
}

/** Splits events into parts that are small enough for one call, in their order. */
function inParts(events: readonly RecordedRow[]): RecordedRow[][] {
  const parts: RecordedRow[][] = [];
  let bytes = MAX_CALL_BYTES;
  for (const event of events) {
    const size =
      Buffer.byteLength(event.data) + Buffer.byteLength(event.before ?? '') + event.persons.join().length + EVENT_BYTES;
    bytes += size;
    if (bytes > MAX_CALL_BYTES) {
      parts.push([]);
      bytes = size;
    }
    parts.at(-1)?.push(event);
  }
  return parts;
}

const eventsTable = (schema: string): QueueTable => ({ name: `${schema}.events`, id: 'number', idType: 'bigint' });

/** What stays of the source of an event if the person who caused it is erased. */
export const ERASED_SOURCE = `'{"kind": "console", "id": "erased"}'`;

/** Erases a person from the source of events without emptying them: others need the data. */
export const sourceErasure = (type: 'json' | 'jsonb'): UserColumn => ({
  column: 'source',
  account: 'chat',
  matches: `(source->>'kind' = 'console' AND source->>'id' = $user)`,
  empty: { source: `${ERASED_SOURCE}::${type}` },
  shows: `jsonb_build_object('type', type)`,
});

/**
 * The rows and fields of a service's event tables that are deleted when a guild or a user is erased. An event that names
 * the user stays without its data, so that no number is missing.
 */
export const eventErasureRules = (schema: string): ErasureRule[] => [
  {
    table: `${schema}.events`,
    holds: 'events',
    // The oldest event of the guild; those after it may be part of the same call.
    sending: '(leased_until IS NOT NULL AND leased_until > clock_timestamp())',
    users: [
      ...(['chat', 'game'] as const).map((account) => ({
        column: 'persons',
        account,
        matches: `persons @> ARRAY['${account}:' || $user]`,
        empty: { data: `'{"erased": true}'`, before: 'NULL', persons: `'{}'` },
        shows: `jsonb_build_object('type', type)`,
      })),
      sourceErasure('jsonb'),
    ],
  },
  // Without the counter a guild that returns would use numbers again, and the events service would skip its events.
  { table: `${schema}.event_counters`, keptRows: 'TRUE' },
];
