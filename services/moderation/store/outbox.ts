import type { Queryable } from '#kit/postgres.ts';
import type { Action, Decider } from '../domain/punishment.ts';

/** The oldest event of a guild that is not delivered, and whether it may be tried now. */
export interface Head {
  guildId: string;
  logId: number;
  isDue: boolean;
  /** When it was decided. */
  createdAt: Date;
}

/** A decision that game servers are to hear of. */
export interface Event extends Decider {
  guildId: string;
  logId: number;
  /** A UUID. */
  eventId: string;
  failures: number;
  action: Action;
  punishmentId: number;
  gameId: number;
  gameUsername: string | null;
  reason: string | null;
  placeId: number | null;
  durationSeconds: number | null;
  expiresAt: Date | null;
  createdAt: Date;
}

/** The heads of up to `limit` guilds that have something to deliver, past a guild in their order. */
export function findHeads(on: Queryable, afterGuildId: string, now: Date, limit: number): Promise<Head[]> {
  // From guild to guild by one look into the index each, however long their queues are.
  return on.query(
    `WITH RECURSIVE heads AS (
       (SELECT guild_id, log_id, due_at FROM moderation.outbox
        WHERE delivered_at IS NULL AND guild_id > $1 ORDER BY guild_id, log_id LIMIT 1)
       UNION ALL
       SELECT next.* FROM heads, LATERAL (
         SELECT guild_id, log_id, due_at FROM moderation.outbox
         WHERE delivered_at IS NULL AND guild_id > heads.guild_id ORDER BY guild_id, log_id LIMIT 1) next
     )
     SELECT guild_id AS "guildId", log_id AS "logId", due_at <= $2 AS "isDue",
       (SELECT created_at FROM moderation.log WHERE log.guild_id = heads.guild_id AND id = log_id) AS "createdAt"
     FROM heads LIMIT $3`,
    [afterGuildId, now, limit],
  );
}

/** Takes a guild's head until `until`, unless another replica has; the guild's later events wait for it. */
export async function takeHead(on: Queryable, guildId: string, now: Date, until: Date): Promise<Event | undefined> {
  const [event] = await on.query<Event>(
    `WITH head AS MATERIALIZED (
       SELECT log_id FROM moderation.outbox WHERE guild_id = $1 AND delivered_at IS NULL ORDER BY log_id LIMIT 1
     ), taken AS (
       UPDATE moderation.outbox SET due_at = $3 FROM head
       WHERE outbox.guild_id = $1 AND outbox.log_id = head.log_id AND due_at <= $2 AND delivered_at IS NULL
       RETURNING outbox.log_id, event_id, failures
     )
     SELECT guild_id AS "guildId", taken.log_id AS "logId", event_id AS "eventId", failures, action,
       punishment_id AS "punishmentId", game_id AS "gameId", game_username AS "gameUsername", reason,
       NULLIF(place_id, 0) AS "placeId", moderator_game_id AS "moderatorGameId",
       moderator_chat_id AS "moderatorChatId", source_server_id AS "sourceServerId",
       duration_seconds AS "durationSeconds", expires_at AS "expiresAt", created_at AS "createdAt"
     FROM taken JOIN moderation.log ON log.guild_id = $1 AND log.id = taken.log_id`,
    [guildId, now, until],
  );
  return event;
}

export async function markDelivered(on: Queryable, guildId: string, logId: number, now: Date): Promise<void> {
  await on.query('UPDATE moderation.outbox SET delivered_at = $3 WHERE guild_id = $1 AND log_id = $2', [
    guildId,
    logId,
    now,
  ]);
}

/** The event, and with it its guild, waits until `until`. */
export async function postpone(on: Queryable, guildId: string, logId: number, until: Date): Promise<void> {
  await on.query(
    'UPDATE moderation.outbox SET due_at = $3, failures = failures + 1 WHERE guild_id = $1 AND log_id = $2',
    [guildId, logId, until],
  );
}
