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
  /** The maximum number of live game servers of a guild. */
  maxLiveServers: number;
}

export interface AdmissionResult {
  /** The seconds until the game server should send its next heartbeat, or a QUOTA_EXCEEDED error. */
  intervalSeconds: number | ApiError;
  /** True if a newer heartbeat of the game server is stored already, so that this one was not written. */
  isLate: boolean;
}

type Outcome = 'new' | 'returned' | 'live' | 'ended' | 'unknown ended' | 'late' | 'rejected';

const WRITTEN: readonly Outcome[] = ['new', 'returned', 'live', 'ended'];

/**
 * Decides which game servers become live and which end. Each decision holds the lock of the guild, so that no guild
 * exceeds its maximum of live servers, however many processes receive its heartbeats.
 */
export class Admissions {
  readonly #options: AdmissionsOptions;
  readonly #sweeping = new Set<string>();

  constructor(options: AdmissionsOptions) {
    this.#options = options;
  }

  /**
   * Writes heartbeats of game servers that start, return or end, at most one of each server. Returns a result for each
   * heartbeat, in the same order.
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
   * Starts to remove servers without recent heartbeats from the live-server counts of guilds, and does not wait for the
   * result. Needed for guilds in which no server started or ended for a while.
   */
  sweepSoon(guildIds: readonly string[]): void {
    const { database, log } = this.#options;
    const due = guildIds.filter((guildId) => !this.#sweeping.has(guildId));
    if (due.length === 0) return;
    for (const guildId of due) this.#sweeping.add(guildId);
    database
      .transaction((transaction) => this.#lock(transaction, due))
      // The next heartbeat of the guild starts another attempt.
      .catch((error: unknown) => log.warn({ err: error }, 'failed to count live servers, will retry'))
      .finally(() => {
        for (const guildId of due) this.#sweeping.delete(guildId);
      });
  }

  /** Locks guilds, and removes lapsed game servers from the guilds' counts of live servers. */
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

/** Counts the live servers of locked guilds while the heartbeats of a batch are decided one after another. */
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
    // A returning server that lapsed may still be counted as live; it must not be counted twice.
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
