import { withPurpose } from '#kit/context.ts';
import type { EventSweep } from '#kit/events/sweeper.ts';
import type { Database, Queryable } from '#kit/postgres/pool.ts';
import { leaseFeed, moveFeed, releaseFeed } from '../../store/timeout-feed.ts';
import { queueTimeoutTasks } from '../../store/timeout-tasks.ts';
import { claimRenewals } from '../../store/timeouts.ts';

/** The maximum number of changes that are read at once. */
const BATCH = 500;
/** How long a process owns the feed. Reading a batch takes less. */
const LEASE_MS = 30_000;
/** The pause between two readings, by whichever process. */
const PAUSE_MS = 1_000;

/** Members whose timeouts have changed, as the members service reports them. */
export interface TimeoutChanges {
  changes: readonly { id: number; guildId: string; chatId: string }[];
  newestId: number;
}

export interface TimeoutFeedOptions {
  database: Database;
  newHolder: () => string;
  list: (after: number, limit: number) => Promise<TimeoutChanges>;
  isWanted: (guildId: string) => Promise<boolean>;
  /** Returns the players who are linked with these chat accounts. */
  gameIdsOf: (guildId: string, chatIds: readonly string[]) => Promise<number[]>;
  wake: () => void;
}

/** Returns the sweeps that queue the players whose timeouts have changed on the chat platform, or have to be extended. */
export function timeoutSweeps(options: TimeoutFeedOptions): EventSweep[] {
  return [
    { name: 'changes of timeouts', sweep: () => withPurpose('background', () => readFeed(options)) },
    { name: 'timeouts to extend', sweep: () => queueRenewals(options) },
  ];
}

/** Reads one batch of changes, if no other process does. Returns true if there may be more. */
async function readFeed(options: TimeoutFeedOptions): Promise<boolean> {
  const { database, newHolder } = options;
  const holder = newHolder();
  const position = await leaseFeed(database, holder, LEASE_MS);
  if (position === undefined) return false;
  let isFull = false;
  try {
    isFull = await queueChanged(options, holder, position);
  } finally {
    await releaseFeed(database, holder, isFull ? 0 : PAUSE_MS);
  }
  return isFull;
}

async function queueChanged(options: TimeoutFeedOptions, holder: string, position: number): Promise<boolean> {
  const { database, list, wake } = options;
  const { changes, newestId } = await list(position, BATCH);
  // Members' database was restored, or all of its changes are deleted by now.
  const next = changes.at(-1)?.id ?? (newestId < position ? 0 : position);
  if (next === position) return false;
  const players = await playersOf(options, changes);
  await database.transaction(async (transaction: Queryable) => {
    await moveFeed(transaction, holder, next);
    for (const [guildId, gameIds] of players) await queueTimeoutTasks(transaction, guildId, gameIds);
  });
  if (players.length > 0) wake();
  return changes.length === BATCH;
}

/** Returns the linked players of the guilds that mirror timeouts, in the order of the guilds' IDs. */
async function playersOf(
  { isWanted, gameIdsOf }: TimeoutFeedOptions,
  changes: TimeoutChanges['changes'],
): Promise<[string, number[]][]> {
  const players: [string, number[]][] = [];
  const byGuild = Object.entries(Object.groupBy(changes, ({ guildId }) => guildId));
  for (const [guildId, members = []] of byGuild.toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    if (!(await isWanted(guildId))) continue;
    players.push([guildId, await gameIdsOf(guildId, [...new Set(members.map(({ chatId }) => chatId))])]);
  }
  return players;
}

async function queueRenewals({ database, wake }: TimeoutFeedOptions): Promise<boolean> {
  const due = await database.transaction(async (transaction) => {
    const claimed = await claimRenewals(transaction, BATCH);
    for (const { guildId, gameId } of claimed) await queueTimeoutTasks(transaction, guildId, [gameId]);
    return claimed.length;
  });
  if (due > 0) wake();
  return due === BATCH;
}
