import pLimit from 'p-limit';
import { ApiError } from '#kit/errors.ts';
import { SingleFlight } from '#kit/resilience/single-flight.ts';
import type { QuotaUse } from '#kit/usage/quota-use.ts';
import { RETAINED_KINDS, type RetainedKind } from '#proto/rest/retained-kinds.ts';
import type { Requests, RequestUsage } from './requests.ts';

/** The maximum number of guilds whose usage one process reads at the same time. */
export const MAX_READS = 8;

/** What a guild uses of one service. */
export interface ServiceUsage {
  rows: { kind: string; rows: number }[];
  quotas: QuotaUse[];
}

/** What a guild uses of all services. */
export interface GuildUsage {
  requests: RequestUsage;
  liveServers: number;
  /** The rows of every kind. */
  rows: { kind: RetainedKind; rows: number }[];
  quotas: QuotaUse[];
}

export interface UsageOptions {
  requests: Pick<Requests, 'read'>;
  /** Reads what a guild uses of this service. */
  own: (guildId: string) => Promise<ServiceUsage>;
  /** Reads what a guild uses of each other service. */
  others: readonly ((guildId: string) => Promise<ServiceUsage>)[];
}

/**
 * Reads the usage of guilds from all services. The verification of keys comes first in this process: few usages are read at
 * the same time, and only one of them at a time reads the stored requests.
 */
export class Usage {
  readonly #options: UsageOptions;
  readonly #reads = new SingleFlight<GuildUsage>();
  readonly #oneRequestsRead = pLimit(1);
  #reading = 0;

  constructor(options: UsageOptions) {
    this.#options = options;
  }

  /**
   * Returns the usage of a guild. Throws UNAVAILABLE or TIMEOUT if a service does not respond, and UNAVAILABLE if too many
   * usages are being read.
   */
  of(guildId: string): Promise<GuildUsage> {
    return this.#reads.run(guildId, async () => {
      if (this.#reading >= MAX_READS) {
        throw new ApiError('UNAVAILABLE', { message: 'The usage of too many guilds is being read, try again soon' });
      }
      return this.#read(guildId);
    });
  }

  async #read(guildId: string): Promise<GuildUsage> {
    const { requests, own, others } = this.#options;
    const reads = [
      this.#oneRequestsRead(() => requests.read(guildId)).then(async (counts) => ({ counts, ...(await own(guildId)) })),
      ...others.map((read) => read(guildId)),
    ] as const;
    this.#reading++;
    // If one read fails, the others go on: the usage counts as being read until all of them have ended.
    void Promise.allSettled(reads).then(() => this.#reading--);
    const [stored, ...services] = await Promise.all(reads);
    const all = [stored, ...services];
    const quotas = all.flatMap((service) => service.quotas).toSorted((a, b) => (a.quota < b.quota ? -1 : 1));
    return {
      requests: stored.counts,
      liveServers: quotas.find(({ quota }) => quota === 'live_servers')?.used ?? 0,
      rows: sumByKind(all.flatMap(({ rows }) => rows)),
      quotas,
    };
  }
}

/** Adds up the rows of each kind: several services may have rows of one kind. */
function sumByKind(rows: ServiceUsage['rows']): GuildUsage['rows'] {
  const kinds = Object.keys(RETAINED_KINDS) as RetainedKind[];
  const sums = new Map<string, number>(kinds.map((kind) => [kind, 0]));
  for (const { kind, rows: count } of rows) {
    // A newer service may report a kind that this version does not know.
    const known = sums.has(kind) ? kind : 'other';
    sums.set(known, (sums.get(known) ?? 0) + count);
  }
  return kinds.map((kind) => ({ kind, rows: sums.get(kind) ?? 0 }));
}
