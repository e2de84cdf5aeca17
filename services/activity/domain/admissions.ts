import type { Clock } from '#kit/clock.ts';
import { ApiError, quotaExceeded } from '#kit/errors.ts';
import type { Database, Queryable } from '#kit/postgres/pool.ts';
import type { Logger } from '#kit/telemetry/log.ts';
import * as store from '../store/admissions.ts';
import { type GuildCounts, lockGuilds, sweepGuilds } from '../store/guilds.ts';
import { type Heartbeat, MIN_LIVE_MS, readIntervals, serverKey } from '../store/servers.ts';
import type { ActivityTelemetry } from '../telemetry.ts';

export interface AdmissionsOptions {
  database: Database;
  clock: Clock;
  log: Logger;
  telemetry: Pick<ActivityTelemetry, 'quotaExceeded'>;
  /** The maximum number of live servers of a guild. */
  maxLiveServers: number;
}

export interface AdmissionResult {
  /** The interval until the server's next heartbeat, or a QUOTA_EXCEEDED error. */
  intervalSeconds: number | ApiError;
  /** A newer heartbeat of the server is stored already, so nothing was written. */
  isLate: boolean;
}

type Outcome = 'new' | 'returned' | 'live' | 'ended' | 'unknown ended' | 'late' | 'rejected';

const WRITTEN: readonly Outcome[] = ['new', 'returned', 'live', 'ended'];

/**
 * Decides which servers become live and which end. It does so under the lock of their guild, so that no guild ever has
 * more live servers than allowed, however many processes receive its heartbeats.
 */
export class Admissions {
  readonly #options: AdmissionsOptions;
  readonly #sweeping = new Set<string>();

  constructor(options: AdmissionsOptions) {
    this.#options = options;
  }

  /**
   * Writes heartbeats of servers that start, return or end, at most one of each server. Returns a result for each, in
   * the same order.
   */
  admit(heartbeats: readonly Heartbeat[]): Promise<AdmissionResult[]> {
    return this.#options.database.transaction(async (transaction) => {
      const guildIds = [...new Set(heartbeats.map(({ guildId }) => guildId))];
      const guilds = await this.#lock(transaction, guildIds);
      const stored = new Map(
        (await store.findServers(transaction, heartbeats)).map((server) => [serverKey(server), server]),
      );
      const counter = new LiveServerCounter(guilds, this.#options.maxLiveServers);
      const decided = heartbeats.map((heartbeat) => ({
        heartbeat,
        outcome: counter.decide(heartbeat, stored.get(serverKey(heartbeat))),
      }));
      const returned = decided.filter(({ outcome }) => outcome === 'returned').map(({ heartbeat }) => heartbeat);
      if (returned.length > 0) await store.reserveCommands(transaction, returned, this.#now());
      await store.addLiveServers(transaction, counter.changes());
      const written = decided
        .filter(({ outcome }) => WRITTEN.includes(outcome))
        .map(({ heartbeat, outcome }) => ({ heartbeat, isNew: outcome === 'new' || outcome === 'returned' }));
      const saved = written.length > 0 ? await store.saveAdmissions(transaction, written) : [];
      const ownIntervals = new Map(saved.map((row) => [serverKey(row), row.intervalSeconds]));
      const guildIntervals = new Map(
        (await readIntervals(transaction, guildIds)).map((row) => [row.guildId, row.intervalSeconds]),
      );
      return decided.map(({ heartbeat, outcome }) => ({
        isLate: outcome === 'late',
        intervalSeconds:
          outcome === 'rejected'
            ? this.#quotaExceeded(heartbeat.guildId)
            : (ownIntervals.get(serverKey(heartbeat)) ?? guildIntervals.get(heartbeat.guildId) ?? missingInterval()),
      }));
    });
  }

  /**
   * Starts to remove lapsed servers from the counts, without waiting for it. For guilds in which no server came or went
   * for a while.
   */
  sweepSoon(guildIds: readonly string[]): void {
    const { database, log } = this.#options;
    const due = guildIds.filter((guildId) => !this.#sweeping.has(guildId));
    if (due.length === 0) return;
    for (const guildId of due) this.#sweeping.add(guildId);
    database
      .transaction((transaction) => this.#lock(transaction, due))
      // The next heartbeat of the guild tries again.
      .catch((error: unknown) => log.warn({ err: error }, 'failed to count live servers, will retry'))
      .finally(() => {
        for (const guildId of due) this.#sweeping.delete(guildId);
      });
  }

  /** Locks guilds, and removes lapsed servers from their counts. */
  async #lock(transaction: Queryable, guildIds: readonly string[]): Promise<GuildCounts[]> {
    const now = this.#now();
    const guilds = await lockGuilds(transaction, guildIds);
    const due = guilds.filter(({ nextLapseAt }) => nextLapseAt !== null && nextLapseAt <= now);
    if (due.length === 0) return guilds;
    const dueIds = due.map(({ guildId }) => guildId);
    const swept = await sweepGuilds(transaction, dueIds, now);
    return [...guilds.filter((guild) => !due.includes(guild)), ...swept];
  }

  #quotaExceeded(guildId: string): ApiError {
    const { maxLiveServers: max, telemetry } = this.#options;
    telemetry.quotaExceeded(guildId, 'live_servers');
    return quotaExceeded('live_servers', max, `The guild has ${max} live servers, which is the maximum`);
  }

  #now(): Date {
    return new Date(this.#options.clock.now());
  }
}

/** Counts the live servers of locked guilds while their heartbeats are decided one after another. */
class LiveServerCounter {
  readonly #max: number;
  readonly #liveByGuild: Map<string, number>;
  readonly #changes = new Map<string, { added: number; earliest: Date | null }>();

  constructor(guilds: readonly GuildCounts[], max: number) {
    this.#max = max;
    this.#liveByGuild = new Map(guilds.map(({ guildId, liveServers }) => [guildId, liveServers]));
  }

  decide({ guildId, receivedAt, isFinal }: Heartbeat, stored: store.StoredServer | undefined): Outcome {
    if (stored && stored.heartbeatAt > receivedAt) return 'late';
    if (isFinal) {
      if (stored?.isCounted) this.#add(guildId, -1, null);
      return stored ? 'ended' : 'unknown ended';
    }
    const isLive = stored?.isCounted && stored.liveUntil > receivedAt;
    if (isLive) return 'live';
    // A lapsed server that is still counted does not count twice.
    if (!stored?.isCounted) {
      if ((this.#liveByGuild.get(guildId) ?? 0) >= this.#max) return 'rejected';
      this.#add(guildId, 1, new Date(receivedAt.getTime() + MIN_LIVE_MS));
    }
    return stored ? 'returned' : 'new';
  }

  changes(): { guildId: string; added: number; earliest: Date | null }[] {
    return [...this.#changes].map(([guildId, change]) => ({ guildId, ...change }));
  }

  #add(guildId: string, added: number, earliest: Date | null): void {
    this.#liveByGuild.set(guildId, (this.#liveByGuild.get(guildId) ?? 0) + added);
    const change = this.#changes.get(guildId) ?? { added: 0, earliest: null };
    const first = [change.earliest, earliest].filter((time) => time !== null).toSorted((a, b) => Number(a) - Number(b));
    this.#changes.set(guildId, { added: change.added + added, earliest: first[0] ?? null });
  }
}

function missingInterval(): never {
  throw new ApiError('INTERNAL', { cause: new Error('no heartbeat interval was read for a locked guild') });
}
