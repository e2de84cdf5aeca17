import type { Transaction } from '#kit/postgres/pool.ts';
import { TIMEOUT_TASKS } from '../../store/mirror-tasks.ts';
import {
  type ComparedGuild,
  listMutedPlayers,
  lockComparedGuild,
  moveComparedGuild,
  noteNewGuilds,
} from '../../store/timeout-guilds.ts';
import type { TimeoutFeedOptions } from './feed-options.ts';

/** The maximum number of players that one transaction queues. */
const BATCH = 500;

/**
 * Queues a batch of the players of a guild that has turned the mirror on: those with a mute in force, then those whose
 * timeouts were changed in the last days. Returns true if there may be more.
 */
export async function compareNewGuild(options: TimeoutFeedOptions): Promise<boolean> {
  const { database, wake } = options;
  await noteNewGuilds(database);
  const guild = await database.transaction(queueMuted);
  if (!guild) return false;
  if (guild.isMutedQueued) await queueTimedOut(guild, options);
  wake();
  return true;
}

/** Queues muted players of the next guild, and returns the guild. `isMutedQueued`: no more of its players are muted. */
async function queueMuted(transaction: Transaction): Promise<(ComparedGuild & { isMutedQueued: boolean }) | undefined> {
  const guild = await lockComparedGuild(transaction);
  if (!guild) return undefined;
  const { guildId, mutesAfter } = guild;
  const muted = await listMutedPlayers(transaction, guildId, mutesAfter, BATCH);
  const last = muted.at(-1);
  if (last === undefined) return { ...guild, isMutedQueued: true };
  await moveComparedGuild(transaction, guild, { ...guild, mutesAfter: last }, false);
  await TIMEOUT_TASKS.queue(transaction, guildId, muted);
  return { ...guild, isMutedQueued: false };
}

/** Reads changes of timeouts outside of a transaction, because other services have them, and queues their players. */
async function queueTimedOut(guild: ComparedGuild, { database, list, gameIdsOf }: TimeoutFeedOptions): Promise<void> {
  const { guildId, mutesAfter, changesAfter } = guild;
  const { changes } = await list(changesAfter, BATCH, guildId);
  const chatIds = [...new Set(changes.map(({ chatId }) => chatId))];
  const players = chatIds.length > 0 ? await gameIdsOf(guildId, chatIds) : [];
  const next = { guildId, mutesAfter, changesAfter: changes.at(-1)?.id ?? changesAfter };
  await database.transaction(async (transaction) => {
    // Otherwise another process has queued the same players meanwhile.
    if (await moveComparedGuild(transaction, guild, next, changes.length < BATCH))
      await TIMEOUT_TASKS.queue(transaction, guildId, players);
  });
}
