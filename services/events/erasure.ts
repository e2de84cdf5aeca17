import { ERASED_SOURCE } from '#kit/events/relay.ts';
import type { ErasureRule } from '#kit/personal-data/erasure-rules.ts';

/** How the rows that name a person are found. */
const byPersons = (['chat', 'game'] as const).map((account) => ({
  column: 'persons',
  account,
  matches: `persons @> ARRAY['${account}:' || $user]`,
}));
/** What stays when an event is emptied: who caused it. */
const ONLY_ACTOR = `ARRAY(SELECT person FROM unnest(persons) AS person WHERE person LIKE 'actor:%')`;
const WITHOUT_PERSON = `CASE source->>'kind' WHEN 'console' THEN ${ERASED_SOURCE} ELSE source END`;

/** The rules by which rows of the events service are erased with a guild and with a user. */
export const erasureRules: readonly ErasureRule[] = [
  {
    // A response may repeat the event that it answers. It is found through the event, and thus erased before it.
    table: 'events.deliveries',
    holds: 'webhook_deliveries',
    users: (['chat', 'game'] as const).map((account) => ({
      column: 'answer',
      account,
      matches: `answer IS NOT NULL AND seq IN (
        SELECT seq FROM events.log WHERE guild_id = $1 AND persons @> ARRAY['${account}:' || $user])`,
      empty: { answer: 'NULL' },
      shows: `jsonb_build_object('seq', seq)`,
    })),
  },
  { table: 'events.parked', holds: 'other' },
  { table: 'events.endpoints', holds: 'webhooks' },
  { table: 'events.revoked_keys', holds: 'other' },
  // Stored responses are encrypted, under idempotency keys that clients chose; they are deleted within a day.
  { table: 'events.idempotency', holds: 'stored_responses' },
  {
    table: 'events.log',
    holds: 'events',
    // The seqs of a guild have no gaps, and events before the first day of the guild are no longer read.
    rowCount: `(SELECT counters.last_seq - (
        SELECT first_seq FROM events.days WHERE days.guild_id = $1 ORDER BY day LIMIT 1) + 1
      FROM events.counters WHERE counters.guild_id = $1)`,
    users: [
      ...byPersons.map((person) => ({
        ...person,
        // The event stays without its data, so that no seq is missing.
        empty: { data: `'{"erased": true}'`, persons: ONLY_ACTOR, size: '16' },
        // The export shows only the type, because the data may name other persons.
        shows: `jsonb_build_object('type', type)`,
      })),
      // Of what the person did in the console the data stays, because it is about others.
      {
        column: 'persons',
        account: 'chat',
        matches: `persons @> ARRAY['actor:' || $user]`,
        empty: { source: ERASED_SOURCE, persons: `array_remove(persons, 'actor:' || $user)` },
        shows: `jsonb_build_object('type', type)`,
      },
    ],
  },
  {
    table: 'events.audit_entries',
    holds: 'other',
    // Auth erases its audit after this service, and by then has stored the entries that it has taken.
    sending: 'coalesce(taken_until > clock_timestamp(), false)',
    users: byPersons.map((person) => ({
      ...person,
      empty: { source: WITHOUT_PERSON, persons: `'{}'`, before: 'NULL', after: 'NULL' },
      shows: `jsonb_build_object('action', action)`,
    })),
  },
  { table: 'events.audit_days', holds: 'other' },
  { table: 'events.days', holds: 'other' },
  { table: 'events.streams', holds: 'other' },
  // If an erased guild is used again, its event numbers continue after the last one, in the log (seq) and in each
  // service.
  { table: 'events.counters', keptRows: 'TRUE' },
  { table: 'events.sources', keptRows: 'TRUE' },
  { table: 'events.leases', belongsToInstallation: true },
];
