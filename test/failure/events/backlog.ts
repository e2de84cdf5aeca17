import { setTimeout as wait } from 'node:timers/promises';
import { ApiError } from '#kit/errors.ts';
import { EventRecorder } from '#kit/events/recorder.ts';
import { databaseRows, openTestPool } from '../../postgres/database.ts';

/** The database schemas of the services that record events. */
export const RECORDERS = ['lookup', 'bindings', 'members', 'moderation', 'activity', 'auth'] as const;

const FIRST_GUILD = 800_000_000_000_000_000n;
const GUILDS = 40;
const EVENTS_PER_TRANSACTION = 25;

const guilds = Array.from({ length: GUILDS }, (_, index) => String(FIRST_GUILD + BigInt(index)));

/**
 * Records events of many guilds in the tables of all services, as the services do with their changes: those of a guild
 * and service have game IDs that count from 1. Returns the number of events, which is at least `minimum`.
 */
export async function recordBacklog(url: string, minimum: number): Promise<number> {
  const database = await openTestPool(url);
  const perTransaction = guilds.length * RECORDERS.length * EVENTS_PER_TRANSACTION;
  const rounds = Math.ceil(minimum / perTransaction);
  const recorders = RECORDERS.map((schema) => new EventRecorder({ schema, wake: () => undefined }));
  for (let round = 0; round < rounds; round++) {
    for (const recorder of recorders) {
      for (const guildId of guilds) {
        const events = Array.from({ length: EVENTS_PER_TRANSACTION }, (_, index) => ({
          guildId,
          type: 'link.removed' as const,
          data: { chat_id: '920000000000000001', game_id: round * EVENTS_PER_TRANSACTION + index + 1, unlinked_at: 1 },
        }));
        await whenResponding(() => database.transaction((transaction) => recorder.record(transaction, events)));
      }
    }
  }
  await database.close();
  return rounds * perTransaction;
}

/** Repeats a transaction that was not begun, because a busy machine made the pool believe that PostgreSQL does not respond. */
async function whenResponding(transaction: () => Promise<unknown>): Promise<void> {
  for (;;) {
    try {
      await transaction();
      return;
    } catch (error) {
      const cause = error instanceof ApiError ? error.cause : undefined;
      if (!(cause instanceof Error) || cause.message !== 'PostgreSQL does not respond') throw error;
      await wait(250);
    }
  }
}

/** The number of recorded events that are not in the log yet. */
export async function waitingEvents(url: string): Promise<number> {
  const counts = RECORDERS.map((schema) => `SELECT count(*) FROM ${schema}.events WHERE finished_at IS NULL`);
  const [row] = await databaseRows<{ count: string }>(
    url,
    `SELECT sum(count) AS count FROM (${counts.join(' UNION ALL ')}) AS waiting`,
  );
  return Number(row?.count);
}

/** The number of events of the backlog in the log, and of those that are not where their number says. */
export async function storedBacklog(url: string): Promise<{ stored: number; misplaced: number }> {
  const [row] = await databaseRows<{ stored: number; misplaced: number }>(
    url,
    `SELECT count(*)::int AS stored, (count(*) FILTER (WHERE position <> number OR seq <> place))::int AS misplaced FROM (
       SELECT (data ->> 'game_id')::bigint AS number, seq,
         row_number() OVER (PARTITION BY guild_id, source ->> 'id' ORDER BY seq) AS position,
         row_number() OVER (PARTITION BY guild_id ORDER BY seq) AS place
       FROM events.log WHERE guild_id = ANY($1)) AS backlog`,
    [guilds],
  );
  if (!row) throw new Error('the log gave no row');
  return row;
}
