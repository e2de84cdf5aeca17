import { ApiError, asApiError, type Quota } from '#kit/errors.ts';
import type { GrpcClient } from '#kit/grpc/client.ts';
import { isRejectedCall } from '#kit/grpc/errors.ts';
import type { UsageServiceService } from '#proto/gen/guild/common/v1/usage.ts';
import type { ServiceUsage } from '../domain/usage.ts';

/**
 * Returns a function that reads what a guild uses of another service. It throws UNAVAILABLE also for a service that rejects
 * every call, such as one of an earlier version during an upgrade.
 */
export function readServiceUsage({ getUsage }: GrpcClient<UsageServiceService>) {
  return async (guildId: string): Promise<ServiceUsage> => {
    try {
      const { rows, quotas } = await getUsage({ guildId });
      return { rows, quotas: quotas.map(({ quota, limit, used }) => ({ quota: quota as Quota, limit, used })) };
    } catch (thrown) {
      const error = asApiError(thrown);
      throw isRejectedCall(error) ? new ApiError('UNAVAILABLE', { cause: error }) : error;
    }
  };
}
