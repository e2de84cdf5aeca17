import { z } from 'zod';
import { unixSeconds } from '#kit/clock.ts';
import { ApiError } from '#kit/errors.ts';
import type { GrpcHandlers } from '#kit/grpc/definition.ts';
import { checked } from '#kit/http/validate.ts';
import type { Queryable } from '#kit/postgres/pool.ts';
import type { Logger } from '#kit/telemetry/log.ts';
import type { BanMirrorAdminServiceService } from '#proto/gen/guild/moderation/v1/admin.ts';
import { guildId } from '#proto/rest/schemas.ts';
import { requestReconciliation } from '../store/mirrored-universes.ts';
import { listDifferences, listReconciliations } from '../store/restriction-drift.ts';
import { readTime } from '../store/time.ts';

const reconcile = z.object({ guildId, actor: z.string().max(100) });
const listDrift = z.object({ guildId, limit: z.int().min(1).max(1_000), afterGameId: z.int().min(0) });

export interface BanMirrorMethodsOptions {
  database: Queryable;
  log: Logger;
}

/** The gRPC methods of guild.moderation.v1.BanMirrorAdminService. */
export function banMirrorMethods({
  database,
  log,
}: BanMirrorMethodsOptions): GrpcHandlers<typeof BanMirrorAdminServiceService> {
  return {
    async reconcile(message) {
      const { guildId: id, actor } = checked(reconcile, message, 'request');
      const requestedAt = await readTime(database);
      const universeIds = await requestReconciliation(database, id);
      if (universeIds.length === 0) {
        const message =
          'The bans of this guild are not mirrored: its settings name no universe, or BAN_MIRROR_UNIVERSES does not allow it';
        throw new ApiError('NOT_FOUND', { message });
      }
      log.info({ guild_id: id, actor }, 'comparison of all bans with the game platform requested');
      return { universeIds, requestedAtMs: requestedAt.getTime() };
    },
    async listDrift(message) {
      const { guildId: id, limit, afterGameId } = checked(listDrift, message, 'request');
      const [universes, differences] = [
        await listReconciliations(database, id),
        await listDifferences(database, id, afterGameId, limit),
      ];
      return {
        universes: universes.map(({ universeId, reconciledAt, compared, drifted, nextAt, lastError }) => ({
          universeId,
          comparedAtMs: reconciledAt?.getTime(),
          compared: compared ?? undefined,
          drifted: drifted ?? undefined,
          nextAt: unixSeconds(nextAt),
          lastError: lastError ?? undefined,
        })),
        differences: differences.map(({ gameId, universeId, placeId, driftedAt, state, attempts, lastError }) => ({
          gameId,
          universeId: universeId ?? undefined,
          placeId: placeId ?? undefined,
          driftedAt: driftedAt ? unixSeconds(driftedAt) : undefined,
          state: state ?? undefined,
          attempts: attempts ?? 0,
          lastError: lastError ?? undefined,
        })),
      };
    },
  };
}
