import type { Queryable } from '#kit/postgres/pool.ts';
import type { ItemKey, QueueTable } from '#kit/queue/definition.ts';

/** A slash command that a member has used. */
export interface NewInteraction extends ItemKey {
  chatId: string;
  command: string;
  applicationId: string;
  /** The platform's token, encrypted. */
  token: Buffer;
  permissions: string;
  /** The values of the command's options, by name. */
  options: Record<string, string>;
}

/** The data of an interaction in the queue. */
export interface InteractionData extends Omit<NewInteraction, keyof ItemKey> {
  /** Seconds since the interaction was accepted. */
  age: number;
}

/** The queue of slash commands. The ID of an item is the platform's ID of the interaction. */
export const INTERACTIONS: QueueTable = {
  name: 'auth.interactions',
  id: 'id',
  idType: 'text',
  holder: 'holder',
  data: `taken.chat_id AS "chatId", taken.command, taken.application_id AS "applicationId", taken.token,
    taken.permissions, taken.options, extract(epoch FROM clock_timestamp() - taken.queued_at)::float8 AS age`,
};

/** Stores an interaction of a guild that is known and not suspended. Each ID of a guild is stored once. */
export async function insertInteraction(
  on: Queryable,
  { guildId, id, chatId, command, applicationId, token, permissions, options }: NewInteraction,
): Promise<'accepted' | 'repeated' | 'unknown_guild'> {
  const [row] = await on.query<{ isKnown: boolean; isNew: boolean }>(
    `WITH guild AS (
       SELECT guild_id FROM auth.guilds WHERE guild_id = $1 AND suspended_at IS NULL
     ), inserted AS (
       INSERT INTO auth.interactions
         (guild_id, id, chat_id, command, application_id, token, permissions, options)
       SELECT guild_id, $2, $3, $4, $5, $6, $7, $8::jsonb FROM guild
       ON CONFLICT (guild_id, id) DO NOTHING
       RETURNING id
     )
     SELECT EXISTS (SELECT FROM guild) AS "isKnown", EXISTS (SELECT FROM inserted) AS "isNew"`,
    [guildId, id, chatId, command, applicationId, token, permissions, JSON.stringify(options)],
  );
  if (!row?.isKnown) return 'unknown_guild';
  return row.isNew ? 'accepted' : 'repeated';
}

/** Removes from a handled interaction what is no longer needed: the token, and the options, which may name others. */
export async function emptyInteraction(on: Queryable, { guildId, id }: ItemKey): Promise<void> {
  await on.query(`UPDATE auth.interactions SET token = NULL, options = '{}' WHERE guild_id = $1 AND id = $2`, [
    guildId,
    id,
  ]);
}
