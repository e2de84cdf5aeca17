import { ERRORS, type ErrorCode } from '#kit/errors.ts';
import { ROUTES } from '#proto/rest/index.ts';
import type { Line, Page } from './exposition.ts';

/**
 * The load of a process, measured at two times. Rates cover the time between the two; all other figures are from the
 * later time. A figure is null if the process does not have it.
 */
export interface Figures {
  requests_per_second: number;
  /** HTTP responses with status 500 and above, and gRPC errors that correspond to such a status. */
  errors_per_second: number;
  /** The 99th percentile of the duration of requests, except for long polls and streams. */
  p99_seconds: number | null;
  in_flight: number | null;
  event_loop_ratio: number | null;
  pool: { used: number; waiting: number; max: number } | null;
  breakers_open: string[];
  limited_per_second: number | null;
  limiter_degraded: boolean | null;
  key_cache_hit_ratio: number | null;
  key_stream_alive: boolean | null;
  waiting_polls: number | null;
  unacknowledged_commands: number | null;
  oldest_command_seconds: number | null;
  unfinished_jobs: number | null;
  /** Problems of the process, such as a listener that receives no notifications, or an outdated schema. */
  faults: string[];
}

type Labels = Line['labels'];
type Wanted = (labels: Labels) => boolean;

const POLLS = new Set(ROUTES.filter(({ longPoll }) => longPoll).map(({ name }) => name));
/** True for the labels of long polls and streams, whose duration says nothing about load. */
const isPoll = ({ route = '', method = '' }: Labels) => POLLS.has(route) || method.endsWith('/Watch');
const isError = ({ code = '' }: Labels) => Number(code) >= 500 || (ERRORS[code as ErrorCode]?.http ?? 0) >= 500;
const REQUESTS = ['http_requests_total', 'grpc_server_handled_total'];
const DURATIONS = ['http_request_duration_seconds_bucket', 'grpc_server_handling_seconds_bucket'];

/** Returns the load figures of a process, computed from its metrics at two times. */
export function figuresOf(before: Page, after: Page): Figures {
  const seconds = Math.max(0.001, (after.at - before.at) / 1000);
  const increase = (name: string, isWanted?: Wanted) => counterIncrease(before, after, name, isWanted);
  const rate = (names: readonly string[], isWanted?: Wanted) =>
    names.reduce((sum, name) => sum + (increase(name, isWanted) ?? 0), 0) / seconds;
  const limited = increase('gateway_limit_decisions_total', ({ decision }) => decision === 'rejected');
  return {
    requests_per_second: rate(REQUESTS),
    errors_per_second: rate(REQUESTS, isError),
    p99_seconds: quantile(0.99, before, after),
    in_flight: value(after, 'gateway_in_flight_requests'),
    event_loop_ratio: value(after, 'event_loop_utilisation_ratio'),
    pool: poolOf(after),
    breakers_open: after
      .lines('breaker_open')
      .filter((line) => line.value === 1)
      .map(({ labels }) => labels['dependency'] ?? ''),
    limited_per_second: limited === undefined ? null : limited / seconds,
    limiter_degraded: flag(after, 'gateway_limiter_degraded'),
    key_cache_hit_ratio: hitRatio(increase),
    key_stream_alive: flag(after, 'gateway_key_stream_alive'),
    waiting_polls: value(after, 'activity_open_polls'),
    unacknowledged_commands: value(after, 'activity_unacknowledged_commands'),
    oldest_command_seconds: value(after, 'activity_oldest_unacknowledged_command_seconds'),
    unfinished_jobs: value(after, 'members_sync_jobs'),
    faults: faultsOf(after),
  };
}

/**
 * Returns the increase of a counter between two times. A smaller value than before means that the process has
 * restarted.
 */
function counterIncrease(before: Page, after: Page, name: string, isWanted?: Wanted): number | undefined {
  const earlier = before.sum(name, isWanted) ?? 0;
  const later = after.sum(name, isWanted);
  if (later === undefined) return undefined;
  return later >= earlier ? later - earlier : later;
}

const value = (page: Page, name: string) => page.sum(name) ?? null;

function flag(page: Page, name: string): boolean | null {
  const sum = page.sum(name);
  return sum === undefined ? null : sum > 0;
}

function poolOf(page: Page): Figures['pool'] {
  const max = page.sum('postgres_pool_connections_max');
  const of = (state: string) => page.sum('postgres_pool_connections', (labels) => labels['state'] === state) ?? 0;
  return max === undefined ? null : { used: of('used'), waiting: of('waiting'), max };
}

function hitRatio(increase: (name: string, isWanted?: Wanted) => number | undefined): number | null {
  const all = increase('gateway_key_cache_total') ?? 0;
  const missed = increase('gateway_key_cache_total', ({ outcome }) => outcome === 'miss') ?? 0;
  return all === 0 ? null : (all - missed) / all;
}

function faultsOf(page: Page): string[] {
  const disconnected = page.lines('listener_receiving').filter((line) => line.value === 0);
  const isOutdated = page.sum('schema_current') === 0;
  return [
    ...disconnected.map(({ labels }) => `no notifications on ${labels['channel'] ?? ''}`),
    ...(isOutdated ? ['outdated schema'] : []),
  ];
}

/**
 * Estimates a quantile of request durations by linear interpolation within a histogram bucket, like Prometheus; null
 * without observations.
 */
function quantile(share: number, before: Page, after: Page): number | null {
  const bounds = new Set(DURATIONS.flatMap((name) => after.lines(name).map(({ labels }) => labels['le'] ?? '')));
  const buckets = [...bounds]
    .map((le) => {
      const isWanted = (labels: Labels) => labels['le'] === le && !isPoll(labels);
      const count = DURATIONS.reduce((sum, name) => sum + (counterIncrease(before, after, name, isWanted) ?? 0), 0);
      return { upTo: le === '+Inf' ? Number.POSITIVE_INFINITY : Number(le), count };
    })
    .toSorted((one, other) => one.upTo - other.upTo);
  const all = buckets.at(-1)?.count ?? 0;
  if (all === 0) return null;
  const rank = share * all;
  let [from, below] = [0, 0];
  for (const { upTo, count } of buckets) {
    if (count >= rank && upTo !== Number.POSITIVE_INFINITY) {
      return from + ((upTo - from) * (rank - below)) / Math.max(1, count - below);
    }
    if (upTo !== Number.POSITIVE_INFINITY) [from, below] = [upTo, count];
  }
  return from;
}
