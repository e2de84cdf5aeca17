import type { GrpcClient } from '#kit/grpc/client.ts';
import type { GuildCheck } from '#kit/guild-state/check.ts';
import type { GuildCount } from '#kit/guild-state/count.ts';
import type { GuildStateServiceService } from '#proto/gen/guild/common/v1/guild_state.ts';
import type { StatePart } from '../domain/guild-state.ts';

/** Returns functions that read the part of the state of a guild that another service knows. */
export function readServiceState<Service extends string>(
  service: Service,
  client: GrpcClient<GuildStateServiceService>,
): StatePart & { service: Service } {
  return {
    service,
    // A newer service may report names that this version does not know.
    checks: async (guildId) => (await client.getChecks({ guildId })).checks as GuildCheck[],
    counts: async (guildId) => (await client.getCounts({ guildId })).counts as GuildCount[],
  };
}
