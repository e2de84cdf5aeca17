import type { Clock } from '#kit/clock.ts';
import type { Queryable } from '#kit/postgres/pool.ts';
import { CATEGORIES } from '#proto/rest/limits.ts';
import { USAGE_DAYS } from '#proto/rest/usage.ts';
import * as store from '../store/requests.ts';
import type { AuthTelemetry } from '../telemetry.ts';

const HOUR_MS = 3_600_000;
/** Categories that this version does not know, which a newer gateway reported, come last. */
const ORDER = Object.keys(CATEGORIES);

/** The requests of a guild in the last hour, and on each of the last days with requests, the newest first. */
export interface RequestUsage {
  lastHour: store.RequestCounts[];
  days: { day: Date; categories: store.RequestCounts[] }[];
}

export interface RequestsOptions {
  database: Queryable;
  clock: Clock;
  telemetry: AuthTelemetry;
}

/** Stores and reads how many requests of each guild were allowed and rejected. */
export class Requests {
  readonly #options: RequestsOptions;

  constructor(options: RequestsOptions) {
    this.#options = options;
  }

  /** Adds the report of a gateway to the counts. A report that was added before is ignored. */
  async add(report: store.RequestReport): Promise<void> {
    const { database, clock, telemetry } = this.#options;
    const isNew = await store.addReport(database, report, new Date(clock.now()));
    telemetry.requestsReported(isNew, report.counts);
  }

  async read(guildId: string): Promise<RequestUsage> {
    const { database, clock } = this.#options;
    const now = clock.now();
    const lastHour = await store.sumMinutes(database, guildId, new Date(now - HOUR_MS));
    const rows = await store.listDays(database, guildId, new Date(now), USAGE_DAYS);
    const days = Map.groupBy(rows, ({ day }) => day.getTime());
    return {
      lastHour: sorted(lastHour),
      days: [...days].map(([day, categories]) => ({ day: new Date(day), categories: sorted(categories) })),
    };
  }
}

function sorted<Counts extends store.RequestCounts>(counts: readonly Counts[]): Counts[] {
  const known = counts.filter(({ category }) => ORDER.includes(category));
  return known.toSorted((a, b) => ORDER.indexOf(a.category) - ORDER.indexOf(b.category));
}
