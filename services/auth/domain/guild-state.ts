import type { Clock } from '#kit/clock.ts';
import { ApiError } from '#kit/errors.ts';
import { BoundedReads } from '#kit/guild-state/bounded-reads.ts';
import { failed, type GuildCheck } from '#kit/guild-state/check.ts';
import type { GuildCount } from '#kit/guild-state/count.ts';
import type { Queryable } from '#kit/postgres/pool.ts';
import { SingleFlight } from '#kit/resilience/single-flight.ts';
import { GUILD_CHECKS, type GuildCheckName } from '#proto/rest/guild-checks.ts';
import { GUILD_COUNTS, type GuildCountName } from '#proto/rest/guild-state.ts';
import { selectKeyPage } from '../store/keys.ts';
import type { AuthTelemetry } from '../telemetry.ts';
import { keyChecks } from './key-checks.ts';

/** The maximum number of guilds whose state one process reads at the same time. */
export const MAX_READS = 8;
/** The maximum number of keys of a guild that are read, unrevoked ones first; at most ten of them are valid. */
const MAX_KEYS = 100;
const KEYS_WAIT_MS = 1_500;

/** The services that have checks. */
export const CHECKING_SERVICES = ['members', 'bindings', 'activity', 'events'] as const;
export type CheckingService = (typeof CHECKING_SERVICES)[number];

/** Reads the part of the state that another service knows. */
export interface StatePart {
  service: string;
  checks: (guildId: string) => Promise<GuildCheck[]>;
  counts: (guildId: string) => Promise<GuildCount[]>;
}

/** The counts of a guild. */
export interface GuildOverview {
  /** null: the service that counts did not respond. */
  counts: Record<GuildCountName, number | null>;
  minimums: GuildCountName[];
  /** The services that did not respond. */
  omitted: string[];
}

export interface GuildStateOptions {
  database: Queryable;
  clock: Clock;
  telemetry: Pick<AuthTelemetry, 'statePartUnreadable'>;
  /** The services that have checks. */
  checking: readonly (StatePart & { service: CheckingService })[];
  /** The services that have counts. */
  counting: readonly StatePart[];
}

const CHECK_ORDER = Object.keys(GUILD_CHECKS);

/**
 * Puts together the checks and counts of a guild from all services. The verification of keys comes first in this process:
 * few guilds are read at the same time, and only one of them at a time reads the database.
 */
export class GuildState {
  readonly #options: GuildStateOptions;
  readonly #keyChecks;
  readonly #checkReads = new SingleFlight<GuildCheck[]>();
  readonly #overviewReads = new SingleFlight<GuildOverview>();
  #reading = 0;

  constructor(options: GuildStateOptions) {
    const { database, clock } = options;
    this.#options = options;
    this.#keyChecks = new BoundedReads<GuildCheck[]>({
      maxReads: 1,
      waitMs: KEYS_WAIT_MS,
      read: async (guildId) => {
        const now = clock.now();
        return keyChecks(await selectKeyPage(database, guildId, new Date(now), undefined, MAX_KEYS), now);
      },
    });
  }

  /**
   * Returns the checks of a guild in the order of GUILD_CHECKS. A service that does not respond is a failed check. Throws
   * UNAVAILABLE if the keys cannot be read, or if too many guilds are being read.
   */
  checks(guildId: string): Promise<GuildCheck[]> {
    return this.#checkReads.run(guildId, () => this.#bounded(() => this.#readChecks(guildId)));
  }

  /** Returns the counts of a guild. Throws UNAVAILABLE if too many guilds are being read. */
  overview(guildId: string): Promise<GuildOverview> {
    return this.#overviewReads.run(guildId, () => this.#bounded(() => this.#readOverview(guildId)));
  }

  async #bounded<Value>(read: () => Promise<Value>): Promise<Value> {
    if (this.#reading >= MAX_READS) {
      throw new ApiError('UNAVAILABLE', { message: 'The state of too many guilds is being read, try again soon' });
    }
    this.#reading++;
    return read().finally(() => this.#reading--);
  }

  async #readChecks(guildId: string): Promise<GuildCheck[]> {
    const others = Promise.all(
      this.#options.checking.map(({ service, checks }) =>
        checks(guildId).catch((error: unknown) => {
          this.#options.telemetry.statePartUnreadable(service, guildId, error);
          return [outage(service)];
        }),
      ),
    );
    // If the keys cannot be read, the guild counts as being read until the other services have responded.
    const own = await this.#keyChecks.of(guildId).catch(async (error: unknown) => {
      await others;
      throw error;
    });
    // Two services may report the same outage of a platform.
    const byName = new Map<GuildCheckName, GuildCheck>();
    for (const check of [own, ...(await others)].flat())
      if (byName.get(check.name)?.isOk !== false) byName.set(check.name, check);
    return [...byName.values()].toSorted((a, b) => CHECK_ORDER.indexOf(a.name) - CHECK_ORDER.indexOf(b.name));
  }

  async #readOverview(guildId: string): Promise<GuildOverview> {
    const names = Object.keys(GUILD_COUNTS) as GuildCountName[];
    const counts = Object.fromEntries(names.map((name) => [name, null])) as GuildOverview['counts'];
    const overview: GuildOverview = { counts, minimums: [], omitted: [] };
    const read = async ({ service, counts: countsOf }: StatePart) => {
      try {
        for (const { name, value, isMinimum } of await countsOf(guildId)) {
          // A newer service may have a count that this version does not know.
          if (!Object.hasOwn(counts, name)) continue;
          counts[name] = value;
          if (isMinimum) overview.minimums.push(name);
        }
      } catch (error) {
        this.#options.telemetry.statePartUnreadable(service, guildId, error);
        overview.omitted.push(service);
      }
    };
    await Promise.all(this.#options.counting.map(read));
    overview.minimums.sort();
    overview.omitted.sort();
    return overview;
  }
}

const CHECKED_BY: Record<CheckingService, string> = {
  members: 'the bot',
  bindings: 'bindings',
  activity: 'game servers and staff',
  events: 'webhooks',
};

const outage = (service: CheckingService): GuildCheck =>
  failed(
    `${service}_service`,
    `The service that checks ${CHECKED_BY[service]} does not respond at the moment.`,
    `Check again in a minute. If it lasts, tell the operator of this installation that the service ${service} does not respond.`,
  );
