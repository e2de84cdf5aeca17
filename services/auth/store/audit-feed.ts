import type { Queryable } from '#kit/postgres/pool.ts';

/** An audit entry about a change that another service made for an API key or a person. */
export interface FeedEntry {
  /** The ID of the entry in the events service. */
  id: string;
  at: Date;
  actor: string;
  action: string;
  service: string;
  details: Record<string, unknown>;
  persons: readonly string[];
}

/**
 * Appends the entries of a guild that are not in its audit yet, in the order given. If two processes append the same
 * entry, the statement of one fails because of the unique index and changes nothing; a conflict must not be ignored,
 * because the trigger would already have moved the end of the chain.
 */
export async function appendFeedEntries(
  on: Queryable,
  guildId: string,
  entries: readonly FeedEntry[],
): Promise<number> {
  const stored = await on.query(
    `INSERT INTO auth.audit (guild_id, at, actor, action, service, method, details, source_id, persons)
     SELECT $1, at, actor, action, service, '', details, id, persons
     FROM ROWS FROM (
       jsonb_to_recordset($2::jsonb) AS (id uuid, at timestamptz, actor text, action text, service text, details jsonb,
         persons text[])
     ) WITH ORDINALITY AS entry (id, at, actor, action, service, details, persons, position)
     WHERE id NOT IN (SELECT source_id FROM auth.audit WHERE guild_id = $1 AND source_id = ANY($3::uuid[]))
     ORDER BY position RETURNING 1`,
    [guildId, JSON.stringify(entries), entries.map(({ id }) => id)],
  );
  return stored.length;
}

/** Takes or renews the right to read the feed. Returns false if another process has it. */
export async function takeFeedLease(on: Queryable, owner: string, leaseMs: number): Promise<boolean> {
  const taken = await on.query(
    `UPDATE auth.audit_feed SET owner = $1, leased_until = clock_timestamp() + $2 * interval '1 millisecond'
     WHERE owner = $1 OR leased_until IS NULL OR leased_until < clock_timestamp() RETURNING 1`,
    [owner, leaseMs],
  );
  return taken.length > 0;
}

/** Gives up the right to read the feed, so that another process can take it immediately. */
export async function endFeedLease(on: Queryable, owner: string): Promise<void> {
  await on.query('UPDATE auth.audit_feed SET leased_until = NULL WHERE owner = $1', [owner]);
}
