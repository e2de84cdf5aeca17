import type { Clock } from '#kit/clock.ts';
import { type ApiError, asApiError } from '#kit/errors.ts';
import type { GrpcClient } from '#kit/grpc/client.ts';
import type { Part } from '#kit/service/lifecycle.ts';
import type { Logger } from '#kit/telemetry/log.ts';
import type { Metrics } from '#kit/telemetry/metrics.ts';
import type {
  AuthServiceService,
  KeyGrant,
  ReportRequestsRequest,
  RequestCount,
} from '#proto/gen/guild/auth/v1/auth.ts';
import type { Route } from '#proto/rest/route.ts';
import { OverloadError } from '../downstream/overload.ts';

const MINUTE_MS = 60_000;
/**
 * Much shorter than the time after which the auth service may erase a guild whose keys were revoked, so that it has
 * received the counts of the guild's last requests by then.
 */
const SEND_INTERVAL_MS = 5_000;
const BATCH_SIZE = 5_000;
/** About 20 MB. While the auth service is down, more guilds and minutes than that are not counted. */
const MAX_COUNTS = 100_000;
const STOP_ATTEMPTS = 3;

type Owner = Pick<KeyGrant, 'guildId'>;
type CountedRoute = Pick<Route, 'category'>;

export interface RequestCountsOptions {
  client: Pick<GrpcClient<AuthServiceService>, 'reportRequests'>;
  clock: Clock;
  metrics: Metrics;
  log: Logger;
  /** Identifies this start of the gateway in its reports. */
  reporter: string;
  /** The maximum number of counts, one for each guild, category and minute. */
  max?: number;
}

/**
 * Counts the allowed and rejected requests of each guild, and reports the counts to the auth service. Reports are
 * numbered, and a report without a response is sent again unchanged before the next one, so that the auth service adds
 * each exactly once.
 */
export class RequestCounts implements Part {
  readonly name = 'request counts';
  readonly #options: RequestCountsOptions;
  readonly #max: number;
  readonly #dropped;
  /** The counts that are in no report yet, by guild, category and minute. */
  #counts = new Map<string, RequestCount>();
  /** The report that the auth service has not confirmed yet. */
  #report: ReportRequestsRequest | undefined;
  #sequence = 0;
  #sending: Promise<void> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: RequestCountsOptions) {
    this.#options = options;
    this.#max = options.max ?? MAX_COUNTS;
    const { metrics } = options;
    this.#dropped = metrics.counter(
      'gateway_request_counts_dropped_total',
      'Requests that are missing in the usage of their guild, because too many counts waited to be reported to the auth service, or because it rejected them as invalid',
    );
    metrics.gauge(
      'gateway_request_counts',
      'Counts of requests, by guild, category and minute, that the auth service has not confirmed yet',
      [],
      (gauge) => gauge.set(this.#counts.size + (this.#report?.counts.length ?? 0)),
    );
  }

  async start(): Promise<void> {
    this.#timer = setInterval(() => void this.send(), SEND_INTERVAL_MS).unref();
  }

  async drain(): Promise<void> {
    await this.send();
  }

  /** Reports the requests that were still in flight when the drain began. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    for (let attempt = 0; attempt < STOP_ATTEMPTS; attempt++) {
      await this.send();
      if (this.#counts.size === 0 && !this.#report) return;
    }
    const { log } = this.#options;
    const counts = this.#counts.size + (this.#report?.counts.length ?? 0);
    log.warn({ counts }, 'failed to report counted requests before the exit, the usage of guilds lacks them');
  }

  /** Counts a request that is passed on to a service. */
  allowed(grant: Owner, route: CountedRoute): void {
    const count = this.#countOf(grant, route);
    if (count) count.allowed++;
  }

  /**
   * Counts a request if a rate limit or a limit on concurrent requests rejects it. Other rejections, such as a missing
   * scope, are not counted. Returns the rejection.
   */
  rejected(grant: Owner, route: CountedRoute, rejection: ApiError): ApiError {
    const isLimit = rejection.code === 'RATE_LIMITED' || rejection instanceof OverloadError;
    const count = isLimit ? this.#countOf(grant, route) : undefined;
    if (count) count.rejected++;
    return rejection;
  }

  #countOf({ guildId }: Owner, { category }: CountedRoute): RequestCount | undefined {
    if (category === null) return undefined;
    const minute = Math.floor(this.#options.clock.now() / MINUTE_MS);
    const key = `${guildId} ${category} ${minute}`;
    const found = this.#counts.get(key);
    if (found) return found;
    if (this.#counts.size >= this.#max) {
      this.#dropped.inc();
      return undefined;
    }
    const count = { guildId, category, minute: minute * 60, allowed: 0, rejected: 0 };
    this.#counts.set(key, count);
    return count;
  }

  /** Sends all counts to the auth service, after any send that is still in progress. */
  send(): Promise<void> {
    this.#sending = this.#sending.then(() => this.#send());
    return this.#sending;
  }

  async #send(): Promise<void> {
    try {
      for (this.#report ??= this.#nextReport(); this.#report; this.#report = this.#nextReport()) {
        await this.#deliver(this.#report);
      }
    } catch (error) {
      this.#options.log.debug({ err: error }, 'failed to report counted requests, will retry');
    }
  }

  /**
   * Sends a report. One that the auth service rejects as invalid is dropped, because it would be rejected each time and hold
   * up all reports after it.
   */
  async #deliver(report: ReportRequestsRequest): Promise<void> {
    try {
      await this.#options.client.reportRequests(report);
    } catch (error) {
      if (asApiError(error).code !== 'INVALID_REQUEST') throw error;
      const lost = report.counts.reduce((sum, { allowed, rejected }) => sum + allowed + rejected, 0);
      this.#dropped.inc(lost);
      this.#options.log.error(
        { err: error, requests: lost },
        'the auth service rejected counted requests as invalid, the usage of guilds lacks them',
      );
    }
  }

  /** Moves counts into a new report; returns undefined if there are none. Requests from now on belong to a later report. */
  #nextReport(): ReportRequestsRequest | undefined {
    if (this.#counts.size === 0) return undefined;
    const all = [...this.#counts];
    this.#counts = new Map(all.slice(BATCH_SIZE));
    const counts = all.slice(0, BATCH_SIZE).map(([, count]) => count);
    return { reporter: this.#options.reporter, sequence: ++this.#sequence, counts };
  }
}
