import { z } from 'zod';
import type { GrpcHandlers } from '#kit/grpc/definition.ts';
import { checked } from '#kit/http/validate.ts';
import type { RecordAdminServiceService } from '#proto/gen/guild/moderation/v1/admin.ts';
import { gameId, guildId } from '#proto/rest/schemas.ts';
import type { Lists } from '../domain/lists.ts';
import { logMessage, punishmentMessage } from './views.ts';

/** The maximum number of punishments, and of log entries, in one response. */
const MAX_ROWS = 100;

const showPlayer = z.object({ guildId, gameId });

/** The gRPC methods of guild.moderation.v1.RecordAdminService. */
export function recordMethods(lists: Lists): GrpcHandlers<typeof RecordAdminServiceService> {
  return {
    async showPlayer(message) {
      const { guildId, gameId } = checked(showPlayer, message, 'request');
      const { punishments, entries } = await lists.player(guildId, gameId, MAX_ROWS);
      const ofKind = (kind: string) => punishments.filter((one) => one.kind === kind).map(punishmentMessage);
      return { bans: ofKind('ban'), mutes: ofKind('mute'), log: entries.map(logMessage) };
    },
  };
}
