import type { Transaction } from '#kit/postgres/pool.ts';
import { TIMEOUT_TASKS } from '../../store/mirror-tasks.ts';
import {
  type ComparedGuild,
  listMutedPlayers,
  lockComparedGuild,
  noteNewGuilds,
  storeComparedGuild,
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
  const isCompared = await database.transaction(async (transaction) => {
    const guild = await lockComparedGuild(transaction);
    if (!guild) return false;
    if (!(await queueMuted(transaction, guild))) await queueTimedOut(transaction, guild, options);
    return true;
  });
  if (isCompared) wake();
  return isCompared;
}

/** Returns false if no more players are muted. */
async function queueMuted(transaction: Transaction, guild: ComparedGuild): Promise<boolean> {
  const { guildId, mutesAfter } = guild;
  const muted = await listMutedPlayers(transaction, guildId, mutesAfter, BATCH);
  const last = muted.at(-1);
  if (last === undefined) return false;
  await TIMEOUT_TASKS.queue(transaction, guildId, muted);
  await storeComparedGuild(transaction, { ...guild, mutesAfter: last }, false);
  return true;
}

async function queueTimedOut(
  transaction: Transaction,
  guild: ComparedGuild,
  { list, gameIdsOf }: TimeoutFeedOptions,
): Promise<void> {
  const { guildId, changesAfter } = guild;
  const { changes } = await list(changesAfter, BATCH, guildId);
  const chatIds = [...new Set(changes.map(({ chatId }) => chatId))];
  if (chatIds.length > 0) await TIMEOUT_TASKS.queue(transaction, guildId, await gameIdsOf(guildId, chatIds));
  const position = { ...guild, changesAfter: changes.at(-1)?.id ?? changesAfter };
  await storeComparedGuild(transaction, position, changes.length < BATCH);
}
