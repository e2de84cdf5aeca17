/**
 * Where a table is that Citus does not distribute by `guild_id`. `reference`: a copy on each node, so that statements of
 * any guild may join it. `local`: on the coordinator only, and never in one statement with a distributed table.
 */
export interface Placement {
  kind: 'reference' | 'local';
  reason: string;
}

const LEASES: Placement = { kind: 'local', reason: 'background loops belong to the installation, a row for each' };

/** The tables that are not distributed. Each other table has a column `guild_id`, by which it is distributed. */
export const PLACEMENTS: Readonly<Record<string, Placement>> = {
  'activity.leases': LEASES,
  'auth.audit_feed': { kind: 'local', reason: 'one row, the lease of a process' },
  'auth.leases': LEASES,
  'auth.operators': { kind: 'local', reason: 'operators belong to the installation' },
  'auth.request_reporters': { kind: 'local', reason: 'a row for each start of a gateway' },
  'auth.sessions': { kind: 'local', reason: 'sessions belong to persons, and guild_id is always empty' },
  'auth.sign_ins': { kind: 'local', reason: 'nobody knows yet who signs in, and rows exist for ten minutes' },
  'bindings.leases': LEASES,
  'events.leases': LEASES,
  'events.streams': { kind: 'local', reason: 'the table is unlogged, which is not possible for shards that are moved' },
  'lookup.leases': LEASES,
  'members.chat_shards': { kind: 'local', reason: 'connections to the chat platform belong to no guild' },
  'members.leases': LEASES,
  'moderation.leases': LEASES,
  'moderation.mirrored_universes': {
    kind: 'reference',
    reason: 'a universe belongs to one guild of all, which a unique index decides, and there are few',
  },
  'moderation.shield': {
    kind: 'reference',
    reason: 'each request about a player also reads the entries for all guilds (guild 0); only operators write it',
  },
  'moderation.timeout_feed': { kind: 'local', reason: 'one row, the position of a process' },
};

/** Every schema has this table of node-pg-migrate. Migrations run on the coordinator. */
export const MIGRATIONS_TABLE = 'schema_migrations';
