import type { Queryable } from '#kit/postgres/pool.ts';
import type { QueueTable } from '#kit/queue/definition.ts';

/** The ID of the only item of each guild in the queue of rank polls. */
const ID = 'ranks';

/** The queue of rank polls: walks through the linked members of a guild that begin again when they end. */
export const RANK_POLLS: QueueTable = {
  name: 'members.rank_polls',
  id: 'id',
  idType: 'text',
  holder: 'holder',
  data: 'taken.position',
};

/** Starts the rank poll of a guild, or a stopped one again. An attempt in flight loses its lease, so that it cannot end it. */
export async function startRankPoll(on: Queryable, guildId: string): Promise<void> {
  await on.query(
    `INSERT INTO members.rank_polls (guild_id, id, run_at, queued_at)
     VALUES ($1, '${ID}', clock_timestamp(), clock_timestamp())
     ON CONFLICT (guild_id, id) DO UPDATE SET state = 'queued', attempts = 0, run_at = excluded.run_at,
       queued_at = excluded.queued_at, finished_at = NULL, holder = NULL, leased_until = NULL, last_error = NULL`,
    [guildId],
  );
}

/** A page of a rank poll that was read. */
export interface RankPollPage {
  guildId: string;
  /** The lease with which the page was read. */
  lease: string;
  /** Where the next page begins; empty if this was the last page of the round. */
  position: string;
  /** The minimum time in milliseconds from the start of a round to the next, and from a page to the next. */
  roundMs: number;
  pauseMs: number;
}

/** The time of the next page. After the last page `round_started_at` is null until the next round. */
const DUE = `CASE WHEN $3 <> '' THEN page_ends
  ELSE greatest(round_starts + $4::int * interval '1 ms', page_ends) END`;

/** Ends the lease of a rank poll whose page was read, until the next page is due. Returns false if the lease was lost. */
export async function nextRankPoll(transaction: Queryable, page: RankPollPage): Promise<boolean> {
  const { guildId, lease, position, roundMs, pauseMs } = page;
  const updated = await transaction.query(
    `WITH round AS (
       SELECT coalesce(round_started_at, clock_timestamp()) AS round_starts,
         clock_timestamp() + $5::int * interval '1 ms' AS page_ends
       FROM members.rank_polls WHERE guild_id = $1 AND id = '${ID}' AND holder = $2
     ), next AS (SELECT ${DUE} AS due, round_starts FROM round)
     UPDATE members.rank_polls
     SET position = $3, run_at = due, queued_at = due,
       round_started_at = CASE WHEN $3 <> '' THEN round_starts END,
       attempts = 0, last_error = NULL, holder = NULL, leased_until = NULL
     FROM next WHERE guild_id = $1 AND id = '${ID}' AND holder = $2 RETURNING 1`,
    [guildId, lease, position, roundMs, pauseMs],
  );
  return updated.length > 0;
}
