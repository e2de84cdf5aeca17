import { z } from 'zod';
import { guildId } from '#proto/rest/schemas.ts';
import type { Clock } from '../clock.ts';
import { checked } from '../http/validate.ts';
import { LoadingCache } from '../resilience/cache.ts';
import { BoundedReads } from './bounded-reads.ts';
import type { GuildCheck } from './check.ts';
import type { GuildCount } from './count.ts';

/** One guild at a time is counted, so that counts occupy one connection of the pool at most, however slow they are. */
const MAX_COUNTING = 1;
const COUNT_WAIT_MS = 1_500;
/** Checks wait for the platforms most of the time. */
const MAX_CHECKING = 8;
/** Shorter than the deadline of auth, which calls these methods, and longer than a check waits for a platform. */
const CHECK_WAIT_MS = 2_700;
const MAX_CACHED_GUILDS = 1_000;

export interface GuildStateOptions {
  clock: Clock;
  /** Counts for the first page of a guild; none if left out. */
  counts?: (guildId: string) => Promise<GuildCount[]>;
  /** Checks of the set-up of a guild; none if left out. */
  checks?: (guildId: string) => Promise<GuildCheck[]>;
  /**
   * How long, in milliseconds, the checks of a guild are used again. Set if they call a platform, whose rate limits an
   * impatient person must not use up.
   */
  checksTtlMs?: number;
}

const request = z.object({ guildId });
const none = async () => [];

/** Creates the gRPC methods that return the service's counts of a guild's rows and its checks of the guild's configuration. */
export function guildStateMethods({ clock, counts = none, checks = none, checksTtlMs = 0 }: GuildStateOptions) {
  const boundedCounts = new BoundedReads<GuildCount[]>({
    read: counts,
    maxReads: MAX_COUNTING,
    waitMs: COUNT_WAIT_MS,
  });
  const cache = new LoadingCache({ ttlMs: checksTtlMs, max: MAX_CACHED_GUILDS, clock, load: checks });
  const boundedChecks = new BoundedReads<GuildCheck[]>({
    read: (guild) => cache.get(guild),
    maxReads: MAX_CHECKING,
    waitMs: CHECK_WAIT_MS,
  });
  return {
    async getCounts(message: z.input<typeof request>) {
      return { counts: await boundedCounts.of(checked(request, message).guildId) };
    },
    async getChecks(message: z.input<typeof request>) {
      return { checks: await boundedChecks.of(checked(request, message).guildId) };
    },
  };
}
