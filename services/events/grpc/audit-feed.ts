import { z } from 'zod';
import type { GrpcHandlers } from '#kit/grpc/definition.ts';
import { checked } from '#kit/http/validate.ts';
import type { Database } from '#kit/postgres/pool.ts';
import type { AuditFeedServiceService } from '#proto/gen/guild/events/v1/events.ts';
import { guildId, uuid } from '#proto/rest/schemas.ts';
import { deleteAuditEntries, takeAuditEntries } from '../store/audit-entries.ts';

const MAX_ENTRIES = 200;
/** How long auth has for storing entries; an erasure waits so long for it. */
const VALID_MS = 5_000;
/** The time that a call to auth may take, and a margin. */
const MARGIN_MS = 5_000;

const takeRequest = z.object({ afterGuildId: z.union([z.literal(''), guildId]) });
const deleteRequest = z.object({
  entries: z
    .array(z.object({ guildId, id: uuid }))
    .min(1)
    .max(MAX_ENTRIES),
});

/** The methods with which auth fetches the changes of keys and persons for the audit. */
export function auditFeedMethods(database: Database): GrpcHandlers<typeof AuditFeedServiceService> {
  return {
    async takeEntries(message) {
      const { afterGuildId } = checked(takeRequest, message);
      const entries = await takeAuditEntries(database, afterGuildId, VALID_MS + MARGIN_MS);
      return {
        entries: entries.map(({ before, after, ...entry }) => ({
          ...entry,
          before: before ?? undefined,
          after: after ?? undefined,
        })),
        validMs: VALID_MS,
      };
    },
    async deleteEntries(message) {
      await deleteAuditEntries(database, checked(deleteRequest, message).entries);
      return {};
    },
  };
}
