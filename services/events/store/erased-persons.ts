import type { Queryable } from '#kit/postgres/pool.ts';

/**
 * True if the guild's log has a `person.erased` event with all of these marks, and after it no event that names one of
 * the persons.
 */
export async function isErasureReported(
  on: Queryable,
  guildId: string,
  { persons, marks }: { persons: readonly string[]; marks: readonly string[] },
): Promise<boolean> {
  const [row] = await on.query<{ isReported: boolean | null }>(
    `SELECT (SELECT max(seq) FROM events.log WHERE guild_id = $1 AND persons @> $3::text[]) >
       coalesce((SELECT max(seq) FROM events.log WHERE guild_id = $1 AND persons && $2::text[]), 0) AS "isReported"`,
    [guildId, persons, marks],
  );
  return row?.isReported ?? false;
}
