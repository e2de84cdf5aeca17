import { z } from 'zod';
import { unixSeconds } from '#kit/clock.ts';
import type { GrpcHandlers } from '#kit/grpc/definition.ts';
import { checked } from '#kit/http/validate.ts';
import type { EventAdminServiceService } from '#proto/gen/guild/events/v1/admin.ts';
import { eventPatterns } from '#proto/rest/events.ts';
import { guildId } from '#proto/rest/schemas.ts';
import type { EventLog } from '../domain/log.ts';
import { visibleTypes } from '../domain/visible-types.ts';

const MAX_BYTES = 1024 * 1024;

const request = z.object({
  guild_id: guildId,
  after: z.int().min(0).optional(),
  types: eventPatterns,
  limit: z.int().min(1).max(100),
  newest: z.boolean(),
});

/** The gRPC methods of guild.events.v1.EventAdminService. */
export function eventAdminMethods(log: EventLog): GrpcHandlers<typeof EventAdminServiceService> {
  return {
    async readEvents({ guildId: guild, after: start, types, limit, newest }) {
      const message = checked(request, { guild_id: guild, after: start, types, limit, newest });
      const after = message.after ?? null;
      const names = visibleTypes(null, types.length > 0 ? types : undefined);
      const read = { guildId: message.guild_id, types: newest ? [] : names, limit, maxBytes: MAX_BYTES };
      const { events, examinedSeq, newestSeq } = await log.read({ ...read, after: newest ? null : after });
      return {
        events: events.map(({ id, seq, type, createdAt, source, data }) => ({
          id,
          seq,
          type,
          createdAt: unixSeconds(createdAt),
          source,
          data: JSON.stringify(data),
        })),
        nextAfter: newest ? newestSeq : examinedSeq,
        newestSeq,
      };
    },
  };
}
