import type { Clock } from '#kit/clock.ts';
import { ApiError, quotaExceeded } from '#kit/errors.ts';
import type { Database, Queryable } from '#kit/postgres/pool.ts';
import type { Logger } from '#kit/telemetry/log.ts';
import * as store from '../store/admissions.ts';
import { type GuildCounts, lockGuilds, sweepGuilds } from '../store/guilds.ts';
import { type Heartbeat, MIN_LIVE_MS, readIntervals, serverKey } from '../store/servers.ts';
import type { ActivityEvents } from '../telemetry.ts';

export interface AdmissionsOptions {
  database: Database;
  clock: Clock;
  log: Logger;
  events: Pick<ActivityEvents, 'quotaExceeded'>;
  /** Servers of a guild that may be live at once. */
  maxLiveServers: number;
}

/** What became of a heartbeat: the interval to tell, or QUOTA_EXCEEDED. */
export interface Admitted {
  intervalSeconds: number | ApiError;
  /** A newer heartbeat of the server was received before: nothing was written. */
  isLate: boolean;
}

type Decision = 'new' | 'back' | 'known' | 'ended' | 'unknown end' | 'late' | 'full';

/**
 * Decides which servers become live and which end. Under the lock of their guild, so that no guild ever has more live
 * servers than it may, however many processes receive their heartbeats.
 */
export class Admissions {
  readonly #options: AdmissionsOptions;
  readonly #sweeping = new Set<string>();

  constructor(options: AdmissionsOptions) {
    this.#options = options;
  }

  /** Writes heartbeats of servers that come, come back or end, at most one of a server; an outcome for each. */
  admit(heartbeats: readonly Heartbeat[]): Promise<Admitted[]> {
    return this.#options.database.transaction(async (transaction) => {
      const guildIds = [...new Set(heartbeats.map(({ guildId }) => guildId))];
      const guilds = await this.#lock(transaction, guildIds);
      const known = new Map(
        (await store.findServers(transaction, heartbeats)).map((server) => [serverKey(server), server]),
      );
      const count = new Count(guilds, this.#options.maxLiveServers);
      const decided = heartbeats.map((heartbeat) => ({
        heartbeat,
        decision: count.decide(heartbeat, known.get(serverKey(heartbeat))),
      }));
      const back = decided.filter(({ decision }) => decision === 'back').map(({ heartbeat }) => heartbeat);
      if (back.length > 0) await store.reserveCommands(transaction, back, this.#now());
      await store.addLiveServers(transaction, count.changes());
      const written = decided
        .filter(({ decision }) => ['new', 'back', 'known', 'ended'].includes(decision))
        .map(({ heartbeat, decision }) => ({ heartbeat, isNew: decision === 'new' || decision === 'back' }));
      const saved = written.length > 0 ? await store.saveAdmissions(transaction, written) : [];
      const intervals = new Map(saved.map((row) => [serverKey(row), row.intervalSeconds]));
      const others = new Map((await readIntervals(transaction, guildIds)).map((row) => [row.guildId, row]));
      return decided.map(({ heartbeat, decision }) => ({
        isLate: decision === 'late',
        intervalSeconds:
          decision === 'full'
            ? this.#full(heartbeat.guildId)
            : (intervals.get(serverKey(heartbeat)) ?? others.get(heartbeat.guildId)?.intervalSeconds ?? lost()),
      }));
    });
  }

  /** Frees the places of servers that are past their end, soon: for guilds in which none came or went for a while. */
  sweepSoon(guildIds: readonly string[]): void {
    const { database, log } = this.#options;
    const due = guildIds.filter((guildId) => !this.#sweeping.has(guildId));
    if (due.length === 0) return;
    for (const guildId of due) this.#sweeping.add(guildId);
    database
      .transaction((transaction) => this.#lock(transaction, due))
      // The next heartbeat tries again.
      .catch((error: unknown) => log.warn({ err: error }, 'failed to count live servers, will retry'))
      .finally(() => {
        for (const guildId of due) this.#sweeping.delete(guildId);
      });
  }

  /** Locks guilds; of those where servers are past their end these are no longer counted. */
  async #lock(transaction: Queryable, guildIds: readonly string[]): Promise<GuildCounts[]> {
    const now = this.#now();
    const guilds = await lockGuilds(transaction, guildIds);
    const due = guilds.filter(({ nextLapseAt }) => nextLapseAt !== null && nextLapseAt <= now);
    if (due.length === 0) return guilds;
    const swept = await sweepGuilds(
      transaction,
      due.map(({ guildId }) => guildId),
      now,
    );
    return [...guilds.filter((guild) => !due.includes(guild)), ...swept];
  }

  #full(guildId: string): ApiError {
    const { maxLiveServers, events } = this.#options;
    events.quotaExceeded(guildId, 'live_servers');
    return quotaExceeded(
      'live_servers',
      maxLiveServers,
      `The guild has ${maxLiveServers} live servers, which is the maximum`,
    );
  }

  #now(): Date {
    return new Date(this.#options.clock.now());
  }
}

/** Counts the live servers of locked guilds while heartbeats are decided one after another. */
class Count {
  readonly #max: number;
  /** By guild. */
  readonly #live: Map<string, number>;
  readonly #changes = new Map<string, { added: number; earliest: Date | null }>();

  constructor(guilds: readonly GuildCounts[], max: number) {
    this.#max = max;
    this.#live = new Map(guilds.map(({ guildId, liveServers }) => [guildId, liveServers]));
  }

  decide({ guildId, receivedAt, isFinal }: Heartbeat, known: store.KnownServer | undefined): Decision {
    if (known && known.heartbeatAt > receivedAt) return 'late';
    if (isFinal) {
      if (known?.isCounted) this.#add(guildId, -1, null);
      return known ? 'ended' : 'unknown end';
    }
    const isLive = known?.isCounted && known.liveUntil > receivedAt;
    if (isLive) return 'known';
    // One that is past its end and still counted has its place.
    if (!known?.isCounted) {
      if ((this.#live.get(guildId) ?? 0) >= this.#max) return 'full';
      this.#add(guildId, 1, new Date(receivedAt.getTime() + MIN_LIVE_MS));
    }
    return known ? 'back' : 'new';
  }

  changes(): { guildId: string; added: number; earliest: Date | null }[] {
    return [...this.#changes].map(([guildId, change]) => ({ guildId, ...change }));
  }

  #add(guildId: string, added: number, earliest: Date | null): void {
    this.#live.set(guildId, (this.#live.get(guildId) ?? 0) + added);
    const change = this.#changes.get(guildId) ?? { added: 0, earliest: null };
    const first = [change.earliest, earliest].filter((time) => time !== null).toSorted((a, b) => Number(a) - Number(b));
    this.#changes.set(guildId, { added: change.added + added, earliest: first[0] ?? null });
  }
}

function lost(): never {
  throw new ApiError('INTERNAL', { cause: new Error('a heartbeat was lost') });
}
