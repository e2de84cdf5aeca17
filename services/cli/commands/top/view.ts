import { table } from '../../text.ts';
import type { Figures } from './figures.ts';

/** The number of requests with an API key in the last minute, as gateways report it. */
export interface KeyCount {
  key_id: string;
  requests: number;
  rejected: number;
}

/** The data that `guildctl top` shows at one time. */
export interface View {
  /** The time of the data, in Unix seconds. */
  at: number;
  /** The processes and their load. `figures` is null if the process could not be queried; `reason` says why. */
  processes: { name: string; address: string; figures: Figures | null; reason: string | null }[];
  /** The API keys with the most requests and the most rejected requests; null without the operators' keys. */
  keys: { busiest: KeyCount[]; rejected: KeyCount[] } | null;
}

const WIDTH = 100;
const HEADINGS = ['PROCESS', 'REQ/S', 'ERR/S', 'P99 MS', 'FLIGHT', 'LOOP', 'POOL', 'NOTES'];
const KEY_HEADINGS = ['BUSIEST KEYS', 'REQ/MIN', 'REJECTED'];
const REJECTED_HEADINGS = ['MOST REJECTED KEYS', 'REQ/MIN', 'REJECTED'];

/** Formats the view of `guildctl top` as text with at most 100 columns. */
export function viewText({ at, processes, keys }: View): string {
  const rows = processes.map(({ name, figures, reason }) =>
    figures ? [name, ...columns(figures), notes(figures)] : [name, '-', '-', '-', '-', '-', '-', `DOWN: ${reason}`],
  );
  const time = new Date(at * 1000).toISOString().slice(11, 19);
  const lines = [`${time} UTC`, '', ...table(HEADINGS, rows).split('\n'), '', ...keyLines(keys)];
  return lines.map((line) => (line.length > WIDTH ? `${line.slice(0, WIDTH - 1)}…` : line)).join('\n');
}

function columns(figures: Figures): string[] {
  const { requests_per_second, errors_per_second, p99_seconds, in_flight, event_loop_ratio, pool } = figures;
  return [
    short(requests_per_second),
    short(errors_per_second),
    p99_seconds === null ? '-' : short(p99_seconds * 1000),
    in_flight === null ? '-' : String(in_flight),
    event_loop_ratio === null ? '-' : percent(event_loop_ratio),
    pool === null ? '-' : `${pool.used}/${pool.max}${pool.waiting > 0 ? ` +${pool.waiting}` : ''}`,
  ];
}

/** Returns the notes at the end of a process's line. Problems come first, because the line may be truncated. */
function notes(figures: Figures): string {
  const { breakers_open: open, limiter_degraded: degraded, key_cache_hit_ratio: hits } = figures;
  const all: (string | null)[] = [
    ...open.map((name) => `BREAKER ${name}`),
    ...figures.faults.map((fault) => fault.toUpperCase()),
    degraded === true ? 'LIMITS APPROXIMATE' : null,
    figures.key_stream_alive === false ? 'KEY STREAM DISCONNECTED' : null,
    amount(figures.unacknowledged_commands, 'unacknowledged'),
    figures.oldest_command_seconds ? `oldest ${short(figures.oldest_command_seconds)} s` : null,
    amount(figures.waiting_polls, 'polls'),
    amount(figures.unfinished_jobs, 'jobs'),
    degraded === false ? 'limits exact' : null,
    figures.limited_per_second ? `429 ${short(figures.limited_per_second)}/s` : null,
    hits === null ? null : `key cache ${percent(hits)}`,
  ];
  return all.filter((note) => note !== null).join(', ');
}

const amount = (count: number | null, what: string) => (count === null ? null : `${count} ${what}`);
const percent = (ratio: number) => `${Math.round(ratio * 100)}%`;

/** Formats a number with three significant digits, or more before the decimal point. */
function short(value: number): string {
  if (value >= 100 || value === 0) return String(Math.round(value));
  return value.toFixed(value >= 10 ? 1 : 2);
}

/** Returns the lines of the two tables of API keys, side by side. */
function keyLines(shown: View['keys']): string[] {
  if (shown === null)
    return ['Keys are only shown to operators: ADMIN_SECRETS is missing, or differs from that of the gateways.'];
  const { busiest, rejected } = shown;
  if (busiest.length === 0) return ['No key was used in the last minute.'];
  const left = keyTable(KEY_HEADINGS, busiest);
  const right = rejected.length > 0 ? keyTable(REJECTED_HEADINGS, rejected) : ['NO KEY WAS REJECTED'];
  const width = Math.max(...left.map((line) => line.length));
  const count = Math.max(left.length, right.length);
  return Array.from({ length: count }, (_, index) =>
    `${(left[index] ?? '').padEnd(width)}    ${right[index] ?? ''}`.trimEnd(),
  );
}

const keyTable = (headings: readonly string[], counts: readonly KeyCount[]) =>
  table(
    headings,
    counts.map(({ key_id, requests, rejected }) => [key_id, String(requests), String(rejected)]),
  ).split('\n');
