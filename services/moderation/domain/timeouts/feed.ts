import pLimit from 'p-limit';
import { withPurpose } from '#kit/context.ts';
import type { EventSweep } from '#kit/events/sweeper.ts';
import type { Queryable } from '#kit/postgres/pool.ts';
import { TIMEOUT_TASKS } from '../../store/mirror-tasks.ts';
import { leaseFeed, moveFeed, releaseFeed } from '../../store/timeout-feed.ts';
import { findTimeoutGuilds } from '../../store/timeout-guilds.ts';
import { endRenewals, findRenewals } from '../../store/timeouts.ts';
import { compareNewGuild } from './comparison.ts';
import type { TimeoutChanges, TimeoutFeedOptions } from './feed-options.ts';

/** The maximum number of changes that are read at once. */
const BATCH = 500;
/** How long a process owns the feed. Reading a batch takes less. */
const LEASE_MS = 30_000;
/** The calls of a batch to lookup at the same time. One after another, those for 500 guilds could outlast the lease. */
const MAX_CALLS = 10;
/** The pause between two readings, by whichever process. */
const PAUSE_MS = 1_000;

/** Returns the sweeps that queue the players whose timeouts have changed on the chat platform, or have to be extended. */
export function timeoutSweeps(options: TimeoutFeedOptions): EventSweep[] {
  return [
    { name: 'changes of timeouts', sweep: () => withPurpose('background', () => readFeed(options)), isShared: true },
    {
      name: 'mutes of new guilds',
      sweep: () => withPurpose('background', () => compareNewGuild(options)),
      isShared: true,
    },
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
    for (const [guildId, gameIds] of players) await TIMEOUT_TASKS.queue(transaction, guildId, gameIds);
  });
  if (players.length > 0) wake();
  return changes.length === BATCH;
}

/** Returns the linked players of the guilds that mirror timeouts, in the order of the guilds' IDs. */
async function playersOf(
  { database, gameIdsOf }: TimeoutFeedOptions,
  changes: TimeoutChanges['changes'],
): Promise<[string, number[]][]> {
  const byGuild = Object.groupBy(changes, ({ guildId }) => guildId);
  const mirroring = await findTimeoutGuilds(database, Object.keys(byGuild));
  return pLimit(MAX_CALLS).map([...mirroring].toSorted(), async (guildId): Promise<[string, number[]]> => {
    const chatIds = new Set(byGuild[guildId]?.map(({ chatId }) => chatId));
    return [guildId, await gameIdsOf(guildId, [...chatIds])];
  });
}

async function queueRenewals({ database, wake }: TimeoutFeedOptions): Promise<boolean> {
  const due = await findRenewals(database, BATCH);
  for (const [guildId, players = []] of Object.entries(Object.groupBy(due, (player) => player.guildId))) {
    const gameIds = players.map(({ gameId }) => gameId);
    await database.transaction(async (transaction) => {
      // The tasks before the rows of the mirror, as the worker does.
      await TIMEOUT_TASKS.queue(transaction, guildId, gameIds);
      await endRenewals(transaction, guildId, gameIds);
    });
  }
  if (due.length > 0) wake();
  return due.length === BATCH;
}
