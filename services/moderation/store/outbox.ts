import type { QueueTable } from '#kit/queue/definition.ts';
import type { Action, Decider } from '../domain/punishment.ts';

/** A moderation decision that waits in the outbox for its delivery to game servers. */
export interface Event extends Decider {
  /** A UUID that identifies the decision, so that the activity service stores a repeated delivery only once. */
  eventId: string;
  action: Action;
  punishmentId: number;
  gameId: number;
  gameUsername: string | null;
  reason: string | null;
  placeId: number | null;
  durationSeconds: number | null;
  expiresAt: Date | null;
  createdAt: Date;
  /** True if a later decision about the same player and scope was delivered while this decision was a dead letter. */
  isSuperseded: boolean;
}

/** A moderation decision that is being delivered to game servers. */
export interface Delivery extends Event {
  guildId: string;
  /** The number of the delivery attempt, starting at 1. */
  attempt: number;
}

/** The queue of undelivered decisions. An item is an outbox row; its data is read from the log. */
export const OUTBOX: QueueTable = {
  name: 'moderation.outbox',
  id: 'log_id',
  idType: 'bigint',
  columns: { runAt: 'due_at', attempts: 'failures', finishedAt: 'delivered_at' },
  data: `taken.event_id AS "eventId", log.action, log.punishment_id AS "punishmentId", log.game_id AS "gameId",
    log.game_username AS "gameUsername", log.reason, NULLIF(log.place_id, 0) AS "placeId",
    log.moderator_game_id AS "moderatorGameId", log.moderator_chat_id AS "moderatorChatId",
    log.source_server_id AS "sourceServerId", log.duration_seconds AS "durationSeconds",
    log.expires_at AS "expiresAt", log.created_at AS "createdAt",
    -- Only a decision that has failed before can have been a dead letter.
    taken.last_error IS NOT NULL AND EXISTS (
      SELECT FROM moderation.log later
      WHERE later.guild_id = log.guild_id AND later.guild_id = $1 AND later.game_id = log.game_id AND later.place_id = log.place_id
        AND later.id > log.id AND (later.action IN ('ban', 'unban')) = (log.action IN ('ban', 'unban'))
        AND NOT EXISTS (SELECT FROM moderation.outbox waiting
          WHERE waiting.guild_id = later.guild_id AND waiting.guild_id = $1 AND waiting.log_id = later.id AND waiting.delivered_at IS NULL)
    ) AS "isSuperseded"`,
  join: 'JOIN moderation.log ON log.guild_id = taken.guild_id AND log.guild_id = $1 AND log.id = taken.log_id',
};
