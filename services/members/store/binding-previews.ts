import type { Queryable } from '#kit/postgres/pool.ts';
import type { ClaimedItem, QueueTable } from '#kit/queue/definition.ts';
import type { Binding } from '#proto/gen/guild/bindings/v1/bindings.ts';
import type { JobError, JobName, JobState } from './sync-jobs.ts';

/** A member who would gain or lose the role of a planned role binding. */
export interface NamedChange {
  chat_id: string;
  username: string;
  change: 'gained' | 'lost';
}

/** The position of a preview in the list of members, and the counts of members up to there. */
export interface PreviewProgress {
  /** The chat ID of the last member that was evaluated; `0` at the start. */
  position: string;
  done: number;
  gained: number;
  lost: number;
  unknown: number;
}

/** A job that computes what adding, changing or removing a role binding would do to all members. */
export interface BindingPreview extends PreviewProgress {
  binding: Binding;
  state: JobState;
  total: number;
  /** The first members who would gain or lose the role. */
  named: NamedChange[];
  cause: JobError | null;
  startedAt: Date | null;
  finishedAt: Date | null;
}

/** The queue of previews. A guild has at most one unfinished preview. */
export const BINDING_PREVIEWS: QueueTable = {
  name: 'members.binding_previews',
  id: 'id',
  idType: 'uuid',
  holder: 'holder',
  data: `taken.binding, taken.is_removal AS "isRemoval", taken.position, taken.done, taken.gained, taken.lost, taken.unknown,
    jsonb_array_length(taken.named) AS "namedCount"`,
};

/** `isRemoval` is true if the binding is to be removed. */
export type PreviewData = PreviewProgress & { binding: Binding; isRemoval: boolean; namedCount: number };
export type PreviewItem = ClaimedItem<PreviewData>;

/** Ends the unfinished preview of a guild, which a newer one replaces, and deletes all but the newest `kept` ones. */
export async function replacePreviews(
  transaction: Queryable,
  guildId: string,
  { cause, kept }: { cause: JobError; kept: number },
): Promise<void> {
  await transaction.query(
    `UPDATE members.binding_previews SET state = 'skipped', cause = $2, holder = NULL, leased_until = NULL,
       finished_at = clock_timestamp() WHERE guild_id = $1 AND finished_at IS NULL`,
    [guildId, cause],
  );
  await transaction.query(
    `DELETE FROM members.binding_previews WHERE guild_id = $1 AND id IN (
       SELECT id FROM members.binding_previews WHERE guild_id = $1 ORDER BY created_at DESC, id DESC OFFSET $2)`,
    [guildId, kept],
  );
}

/** Locks the creation of previews of a guild until the transaction ends. */
export async function lockPreviews(transaction: Queryable, guildId: string): Promise<void> {
  await transaction.query("SELECT pg_advisory_xact_lock(hashtextextended('members.binding_previews ' || $1, 0))", [
    guildId,
  ]);
}

/** Queues a preview, due immediately. */
export async function insertPreview(
  transaction: Queryable,
  { guildId, id }: JobName,
  { binding, isRemoval, total }: { binding: Binding; isRemoval: boolean; total: number },
): Promise<void> {
  await transaction.query(
    'INSERT INTO members.binding_previews (guild_id, id, binding, is_removal, total) VALUES ($1, $2, $3, $4, $5)',
    [guildId, id, binding, isRemoval, total],
  );
}

export async function findPreview(on: Queryable, { guildId, id }: JobName): Promise<BindingPreview | undefined> {
  const [preview] = await on.query<BindingPreview>(
    `SELECT binding, total, done, gained, lost, unknown, named, cause, position, started_at AS "startedAt",
       finished_at AS "finishedAt",
       CASE WHEN state = 'done' THEN 'done' WHEN state <> 'queued' THEN 'failed' WHEN holder IS NOT NULL THEN 'running'
         WHEN cause IS NOT NULL THEN 'paused' ELSE 'queued' END AS state
     FROM members.binding_previews WHERE guild_id = $1 AND id = $2`,
    [guildId, id],
  );
  return preview;
}

/** An SQL condition for the preview with guild $1 and ID $2 while $3 holds its lease. */
const HELD = 'guild_id = $1 AND id = $2 AND holder = $3';
const lease = ({ guildId, id, lease: holder }: PreviewItem) => [guildId, id, holder];

/**
 * Marks a preview as started. Returns the seconds for which it has made no progress; undefined if the lease was lost. The
 * first attempt since the preview was released begins that time anew: the preview has waited for its turn.
 */
export async function startPreview(on: Queryable, item: PreviewItem): Promise<number | undefined> {
  const [started] = await on.query<{ stalledSeconds: number }>(
    `UPDATE members.binding_previews SET started_at = coalesce(started_at, now),
       progressed_at = CASE WHEN started_at IS NULL OR attempts = 1 THEN now ELSE progressed_at END
     FROM (SELECT clock_timestamp() AS now) AS clock WHERE ${HELD}
     RETURNING extract(epoch FROM now - progressed_at)::float8 AS "stalledSeconds"`,
    lease(item),
  );
  return started?.stalledSeconds;
}

/**
 * Stores the progress of a preview, and appends to the named members: those that were erased meanwhile stay erased.
 * Returns false if the lease was lost.
 */
export async function savePreview(
  on: Queryable,
  item: PreviewItem,
  { position, done, gained, lost, unknown, named }: PreviewProgress & { named: readonly NamedChange[] },
): Promise<boolean> {
  const saved = await on.query(
    `UPDATE members.binding_previews SET position = $4, done = $5, gained = $6, lost = $7, unknown = $8,
       named = named || $9::jsonb, total = greatest(total, $5), attempts = 1, cause = NULL,
       progressed_at = clock_timestamp()
     WHERE ${HELD} RETURNING 1`,
    [...lease(item), position, done, gained, lost, unknown, JSON.stringify(named)],
  );
  if (saved.length > 0) item.attempts = 1;
  return saved.length > 0;
}

/** Stores why a preview waits. With `isWaiting`, the time does not count as time without progress. */
export async function pausePreview(
  on: Queryable,
  item: PreviewItem,
  { cause, isWaiting }: { cause: JobError; isWaiting: boolean },
): Promise<void> {
  await on.query(
    `UPDATE members.binding_previews SET cause = $4,
       progressed_at = CASE WHEN $5 THEN now ELSE progressed_at END,
       attempts = CASE WHEN $5 THEN 0 ELSE attempts END
     FROM (SELECT clock_timestamp() AS now) AS clock WHERE ${HELD}`,
    [...lease(item), cause, isWaiting],
  );
}

/**
 * Marks a preview as failed: if `always` is set, or if it last stored progress more than `seconds` ago. Returns true if it was
 * marked.
 */
export async function failPreview(
  on: Queryable,
  item: PreviewItem,
  { cause, always, seconds }: { cause: JobError; always: boolean; seconds: number },
): Promise<boolean> {
  const failed = await on.query(
    `UPDATE members.binding_previews SET state = 'skipped', cause = $4,
       holder = NULL, leased_until = NULL, finished_at = clock_timestamp()
     WHERE ${HELD} AND ($5 OR progressed_at < clock_timestamp() - $6 * interval '1 second') RETURNING 1`,
    [...lease(item), cause, always, seconds],
  );
  return failed.length > 0;
}

/** Marks a preview as done. All members count as handled, including linked users who are not in the guild. */
export async function completePreview(on: Queryable, item: PreviewItem): Promise<void> {
  await on.query(
    `UPDATE members.binding_previews SET state = 'done', cause = NULL, done = total, holder = NULL, leased_until = NULL,
       finished_at = clock_timestamp() WHERE ${HELD}`,
    lease(item),
  );
}
