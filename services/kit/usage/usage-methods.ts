import { z } from 'zod';
import { guildId } from '#proto/rest/schemas.ts';
import { checked } from '../http/validate.ts';
import type { QuotaUse } from './quota-use.ts';
import { type RetainedRows, RowCounts, type RowCountsOptions } from './row-counts.ts';

export interface UsageMethodsOptions extends RowCountsOptions {
  /** Returns the quotas that the service enforces; none if left out. */
  quotas?: (guildId: string) => Promise<QuotaUse[]>;
}

const usageRequest = z.object({ guildId });

/** Creates the gRPC method that reports what a guild uses of this service. Every service with tables serves it. */
export function usageMethods(options: UsageMethodsOptions) {
  const counts = new RowCounts(options);
  return {
    async getUsage(message: z.input<typeof usageRequest>): Promise<{ rows: RetainedRows[]; quotas: QuotaUse[] }> {
      const request = checked(usageRequest, message);
      // One after the other: a call occupies one connection of the pool.
      const quotas = (await options.quotas?.(request.guildId)) ?? [];
      return { rows: await counts.of(request.guildId), quotas };
    },
  };
}
