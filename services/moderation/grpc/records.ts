import { z } from 'zod';
import { unixSeconds } from '#kit/clock.ts';
import type { GrpcHandlers } from '#kit/grpc/definition.ts';
import { checked } from '#kit/http/validate.ts';
import type { LogEntry as LogMessage, RecordAdminServiceService } from '#proto/gen/guild/moderation/v1/admin.ts';
import { gameId, guildId } from '#proto/rest/schemas.ts';
import type { Lists } from '../domain/lists.ts';
import type { LogEntry } from '../domain/punishment.ts';
import { punishmentMessage } from './moderation.ts';

/** Entries of the log that an operator is shown. */
const MAX_LOG = 100;

const showPlayer = z.object({ guildId, gameId });

/** The methods of guild.moderation.v1.RecordAdminService. */
export function recordMethods(lists: Lists): GrpcHandlers<typeof RecordAdminServiceService> {
  return {
    async showPlayer(message) {
      const { guildId, gameId } = checked(showPlayer, message);
      const { punishments, entries } = await lists.player(guildId, gameId, MAX_LOG);
      const ofKind = (kind: string) => punishments.filter((one) => one.kind === kind).map(punishmentMessage);
      return { bans: ofKind('ban'), mutes: ofKind('mute'), log: entries.map(logMessage) };
    },
  };
}

function logMessage(entry: LogEntry): LogMessage {
  const { id, action, reason, moderatorGameId, moderatorChatId, placeId, expiresAt, createdAt } = entry;
  return {
    id,
    action,
    reason: reason ?? undefined,
    moderatorGameId: moderatorGameId ?? undefined,
    moderatorChatId: moderatorChatId ?? undefined,
    placeId: placeId ?? undefined,
    expiresAt: expiresAt === null ? undefined : unixSeconds(expiresAt),
    createdAt: unixSeconds(createdAt),
  };
}
