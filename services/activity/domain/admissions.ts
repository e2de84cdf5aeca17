import type { Clock } from '#kit/clock.ts';
import { dailyLimitReached } from '#kit/daily-limit.ts';
import { ApiError, quotaExceeded } from '#kit/errors.ts';
import type { RecordedEvent } from '#kit/events/recorder.ts';
import type { EventSource } from '#kit/events/source.ts';
import type { EventSweep } from '#kit/events/sweeper.ts';
import type { Database, Queryable } from '#kit/postgres/pool.ts';
import type { ActivityEvents } from '../events.ts';
import * as store from '../store/admissions.ts';
import { addToDays, readDays } from '../store/daily-counts.ts';
import { claimLapsing, type GuildCounts, lockGuilds, MAX_LAPSED, sweepGuilds } from '../store/guilds.ts';
import { type ChangedServer, type Heartbeat, readIntervals, serverKey } from '../store/servers.ts';
import type { ActivityTelemetry } from '../telemetry.ts';
import { AdmissionCounter, isReturning, MAX_SERVER_STARTS_PER_DAY, type Outcome } from './admission-counter.ts';

/**
 * The maximum number of commands that one batch reserves for servers that become live again, so that the heartbeats of
 * other guilds wait for a tenth of a second or two at most. A server with MAX_OPEN_COMMANDS fits into a batch.
 */
export const MAX_RESERVED = 5_000;

/** The maximum number of guilds that one sweep of lapsed servers locks. */
const MAX_GUILDS = 100;

/** A heartbeat of a game server that starts, returns or ends. */
export type ChangingHeartbeat = Heartbeat & {
  /** Who sent the heartbeat. */
  source?: EventSource | undefined;
};

export interface AdmissionsOptions {
  database: Database;
  clock: Clock;
  events: ActivityEvents;
  telemetry: Pick<ActivityTelemetry, 'quotaExceeded'>;
  /** The maximum number of live game servers of a guild. */
  maxLiveServers: number;
}

export interface AdmissionResult {
  /** The seconds until the game server should send its next heartbeat, or the error of a rejected heartbeat. */
  intervalSeconds: number | ApiError;
  /** True if a newer heartbeat of the game server is stored already, so that this one was not written. */
  isLate: boolean;
  /** True if the heartbeat was not written because of MAX_RESERVED; the caller must pass it again. */
  isPostponed: boolean;
}

const WRITTEN: readonly Outcome[] = ['new', 'returned', 'live', 'ended'];

interface Decided {
  heartbeat: ChangingHeartbeat;
  outcome: Outcome;
  /** True if the server counted as live before, even if its heartbeats had stopped. */
  wasCounted: boolean;
}

/**
 * Decides which game servers become live and which end. Each decision holds the lock of the guild, so that no guild
 * exceeds its maximum of live servers, however many processes receive its heartbeats. A server is reported as online
 * when it starts to count as live, and as offline when it no longer counts, in the transaction that changes this.
 */
export class Admissions {
  readonly #options: AdmissionsOptions;

  constructor(options: AdmissionsOptions) {
    this.#options = options;
  }

  /**
   * Writes heartbeats of game servers that start, return or end, at most one of each server. Returns a result for each
   * heartbeat, in the same order.
   */
  admit(heartbeats: readonly ChangingHeartbeat[]): Promise<AdmissionResult[]> {
    return this.#options.database.transaction(async (transaction) => {
      const guildIds = [...new Set(heartbeats.map(({ guildId }) => guildId))];
      const { guilds, lapsed } = await this.#lock(transaction, guildIds);
      const stored = new Map(
        (await store.findServers(transaction, heartbeats)).map((server) => [serverKey(server), server]),
      );
      const returning = await this.#chooseReturning(transaction, heartbeats, stored);
      const now = this.#now();
      const starts = await readDays(transaction, guildIds, 'server_starts', now);
      const counter = new AdmissionCounter(guilds, starts, this.#options.maxLiveServers);
      const decided = heartbeats.map((heartbeat): Decided => {
        const server = stored.get(serverKey(heartbeat));
        const isPostponed = returning.postponed.has(serverKey(heartbeat));
        const outcome = isPostponed ? 'postponed' : counter.decide(heartbeat, server);
        return { heartbeat, outcome, wasCounted: server?.isCounted ?? false };
      });
      const withCommands = decided
        .filter(({ heartbeat, outcome }) => outcome === 'returned' && returning.withCommands.has(serverKey(heartbeat)))
        .map(({ heartbeat }) => heartbeat);
      if (withCommands.length > 0) await store.reserveCommands(transaction, withCommands, this.#now());
      await store.addLiveServers(transaction, counter.changes());
      await addToDays(transaction, counter.starts(), 'server_starts', now);
      const written = decided
        .filter(({ outcome }) => WRITTEN.includes(outcome))
        .map(({ heartbeat, outcome }) => ({ heartbeat, isNew: outcome === 'new' || outcome === 'returned' }));
      const saved = written.length > 0 ? await store.saveAdmissions(transaction, written) : [];
      const ownIntervals = new Map(saved.map((row) => [serverKey(row), row.intervalSeconds]));
      const guildIntervals = new Map(
        (await readIntervals(transaction, guildIds)).map((row) => [row.guildId, row.intervalSeconds]),
      );
      await this.#options.events.record(transaction, this.#eventsOf(lapsed, decided, saved));
      return decided.map(({ heartbeat, outcome }) => ({
        isLate: outcome === 'late',
        isPostponed: outcome === 'postponed',
        intervalSeconds:
          this.#errorOf(outcome, heartbeat.guildId) ??
          ownIntervals.get(serverKey(heartbeat)) ??
          guildIntervals.get(heartbeat.guildId) ??
          missingInterval(),
      }));
    });
  }

  /**
   * Returns the sweep that removes servers without recent heartbeats from the counts of live servers, also in guilds that
   * send no heartbeats.
   */
  lapsedServersSweep(): EventSweep {
    const { database, events } = this.#options;
    return {
      name: 'lapsed game servers',
      sweep: () =>
        database.transaction(async (transaction) => {
          const now = this.#now();
          const guildIds = await claimLapsing(transaction, now, MAX_GUILDS);
          if (guildIds.length === 0) return false;
          const { lapsed } = await sweepGuilds(transaction, guildIds, now);
          await events.record(transaction, this.#eventsOf(lapsed, [], []));
          return guildIds.length === MAX_GUILDS || lapsed.length >= MAX_LAPSED;
        }),
    };
  }

  /** Locks guilds, and removes lapsed game servers from the guilds' counts of live servers. */
  async #lock(
    transaction: Queryable,
    guildIds: readonly string[],
  ): Promise<{ guilds: GuildCounts[]; lapsed: ChangedServer[] }> {
    const now = this.#now();
    const guilds = await lockGuilds(transaction, guildIds);
    const due = guilds.filter(({ nextLapseAt }) => nextLapseAt !== null && nextLapseAt <= now);
    if (due.length === 0) return { guilds, lapsed: [] };
    const dueIds = due.map(({ guildId }) => guildId);
    const { guilds: swept, lapsed } = await sweepGuilds(transaction, dueIds, now);
    return { guilds: [...guilds.filter((guild) => !due.includes(guild)), ...swept], lapsed };
  }

  /**
   * Chooses which of the servers that return have their commands reserved in this batch, and which are postponed because
   * of MAX_RESERVED. Servers with fewer commands come first, so that a guild with many commands does not delay others.
   */
  async #chooseReturning(
    transaction: Queryable,
    heartbeats: readonly ChangingHeartbeat[],
    stored: ReadonlyMap<string, store.StoredServer>,
  ): Promise<{ withCommands: Set<string>; postponed: Set<string> }> {
    const servers = heartbeats.flatMap((heartbeat) => {
      const server = stored.get(serverKey(heartbeat));
      return server && isReturning(heartbeat, server) ? [server] : [];
    });
    const counts = servers.length > 0 ? await store.countReservations(transaction, servers, this.#now()) : new Map();
    const reserving = servers
      .map((server) => ({ key: serverKey(server), commands: counts.get(server.guildId) ?? 0 }))
      .filter(({ commands }) => commands > 0)
      .toSorted((a, b) => a.commands - b.commands);
    let left = MAX_RESERVED;
    const withCommands = new Set<string>();
    const postponed = new Set<string>();
    for (const { key, commands } of reserving) {
      left -= commands;
      (left >= 0 ? withCommands : postponed).add(key);
    }
    return { withCommands, postponed };
  }

  /** Returns the events of servers that have lapsed, and of servers that were admitted or ended. */
  #eventsOf(
    lapsed: readonly ChangedServer[],
    decided: readonly Decided[],
    saved: readonly ChangedServer[],
  ): RecordedEvent[] {
    const { events } = this.#options;
    const servers = new Map(saved.map((server) => [serverKey(server), server]));
    const changed = decided.flatMap(({ heartbeat, outcome, wasCounted }) => {
      const server = servers.get(serverKey(heartbeat));
      if (!server) return [];
      if (outcome === 'ended') return wasCounted ? [events.serverOffline(server, heartbeat.source)] : [];
      const isAdmitted = outcome === 'new' || outcome === 'returned';
      return isAdmitted && !wasCounted ? [events.serverOnline(server, heartbeat.source)] : [];
    });
    return [...lapsed.map((server) => events.serverOffline(server, undefined)), ...changed];
  }

  #errorOf(outcome: Outcome, guildId: string): ApiError | undefined {
    if (outcome === 'too many starts') {
      const message = `${MAX_SERVER_STARTS_PER_DAY} servers of the guild have started today (UTC), which is the maximum`;
      return dailyLimitReached(message, this.#now().getTime());
    }
    if (outcome !== 'too many live') return undefined;
    const { maxLiveServers: max, telemetry } = this.#options;
    telemetry.quotaExceeded(guildId, 'live_servers');
    return quotaExceeded('live_servers', max, `The guild has ${max} live servers, which is the maximum`);
  }

  #now(): Date {
    return new Date(this.#options.clock.now());
  }
}

function missingInterval(): never {
  throw new ApiError('INTERNAL', { cause: new Error('no heartbeat interval was read for a locked guild') });
}
