import type { StoredServer } from '../store/admissions.ts';
import type { GuildCounts } from '../store/guilds.ts';
import { type Heartbeat, MIN_LIVE_MS } from '../store/servers.ts';

/**
 * The maximum number of times that servers of a guild may become live in a day (UTC), because each time is stored as two
 * events.
 */
export const MAX_SERVER_STARTS_PER_DAY = 100_000;

/** What becomes of a heartbeat that is not from a live server, or that ends one. */
export type Outcome =
  | 'new'
  | 'returned'
  | 'live'
  | 'ended'
  | 'unknown ended'
  | 'late'
  | 'too many live'
  | 'too many starts'
  | 'postponed';

/**
 * Counts the live servers of locked guilds, and those that started today, while the heartbeats of a batch are decided one
 * after another.
 */
export class AdmissionCounter {
  readonly #max: number;
  readonly #liveByGuild: Map<string, number>;
  /** The servers that started today before this batch, by guild. */
  readonly #startsBefore: ReadonlyMap<string, number>;
  readonly #starts = new Map<string, number>();
  readonly #changes = new Map<string, { added: number; earliest: Date | null }>();

  constructor(guilds: readonly GuildCounts[], startsToday: ReadonlyMap<string, number>, max: number) {
    this.#max = max;
    this.#startsBefore = startsToday;
    this.#liveByGuild = new Map(guilds.map(({ guildId, liveServers }) => [guildId, liveServers]));
  }

  decide(heartbeat: Heartbeat, stored: StoredServer | undefined): Outcome {
    const { guildId, receivedAt, isFinal } = heartbeat;
    if (stored && isLate(heartbeat, stored)) return 'late';
    if (isFinal) {
      if (stored?.isCounted) this.#add(guildId, -1, null);
      return stored ? 'ended' : 'unknown ended';
    }
    if (stored && isLive(heartbeat, stored)) return 'live';
    // A returning server that lapsed may still be counted as live; it must not be counted twice.
    if (!stored?.isCounted) {
      if ((this.#liveByGuild.get(guildId) ?? 0) >= this.#max) return 'too many live';
      const started = this.#starts.get(guildId) ?? 0;
      if ((this.#startsBefore.get(guildId) ?? 0) + started >= MAX_SERVER_STARTS_PER_DAY) return 'too many starts';
      this.#starts.set(guildId, started + 1);
      this.#add(guildId, 1, new Date(receivedAt.getTime() + MIN_LIVE_MS));
    }
    return stored ? 'returned' : 'new';
  }

  changes(): { guildId: string; added: number; earliest: Date | null }[] {
    return [...this.#changes].map(([guildId, change]) => ({ guildId, ...change }));
  }

  /** The servers of this batch that started. */
  starts(): { guildId: string; added: number }[] {
    return [...this.#starts].map(([guildId, added]) => ({ guildId, added }));
  }

  #add(guildId: string, added: number, earliest: Date | null): void {
    this.#liveByGuild.set(guildId, (this.#liveByGuild.get(guildId) ?? 0) + added);
    const change = this.#changes.get(guildId) ?? { added: 0, earliest: null };
    const first = [change.earliest, earliest].filter((time) => time !== null).toSorted((a, b) => Number(a) - Number(b));
    this.#changes.set(guildId, { added: change.added + added, earliest: first[0] ?? null });
  }
}

/** Returns whether a newer heartbeat of the server is stored. */
const isLate = ({ receivedAt }: Heartbeat, { heartbeatAt }: StoredServer) => heartbeatAt > receivedAt;

const isLive = ({ receivedAt }: Heartbeat, { isCounted, liveUntil }: StoredServer) =>
  isCounted && liveUntil > receivedAt;

/** Returns whether the heartbeat makes a stored server live that is not live now, unless the guild has too many. */
export const isReturning = (heartbeat: Heartbeat, stored: StoredServer) =>
  !heartbeat.isFinal && !isLate(heartbeat, stored) && !isLive(heartbeat, stored);
