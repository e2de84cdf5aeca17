import { table } from '../../text.ts';
import type { Figures } from './figures.ts';

/** A key's share in the last minute, as gateways tell it. */
export interface KeyCount {
  key_id: string;
  requests: number;
  refused: number;
}

/** Everything that is shown at one moment. */
export interface View {
  /** Unix seconds. */
  at: number;
  /** `figures` is null of a process that did not answer, with the reason. */
  processes: { name: string; address: string; figures: Figures | null; reason: string | null }[];
  /** Null without the operators' credential. */
  keys: { busiest: KeyCount[]; refused: KeyCount[] } | null;
}

const WIDTH = 100;
const HEADINGS = ['PROCESS', 'REQ/S', 'ERR/S', 'P99 MS', 'FLIGHT', 'LOOP', 'POOL', 'WHAT ELSE'];
const KEY_HEADINGS = ['BUSIEST KEYS', 'REQ/MIN', 'REFUSED'];
const REFUSED_HEADINGS = ['MOST REFUSED KEYS', 'REQ/MIN', 'REFUSED'];

/** A view as text of at most a hundred columns. */
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

/** What is wrong first: the line may be cut. */
function notes(figures: Figures): string {
  const { breakers_open: open, limiter_degraded: degraded, key_cache_hit_ratio: hits } = figures;
  const told: (string | null)[] = [
    ...open.map((name) => `BREAKER ${name}`),
    ...figures.faults.map((fault) => fault.toUpperCase()),
    degraded === true ? 'LIMITS APPROXIMATE' : null,
    figures.key_stream_alive === false ? 'KEY STREAM CUT' : null,
    amount(figures.unacknowledged_commands, 'unacknowledged'),
    figures.oldest_command_seconds ? `oldest ${short(figures.oldest_command_seconds)} s` : null,
    amount(figures.waiting_polls, 'polls'),
    amount(figures.unfinished_jobs, 'jobs'),
    degraded === false ? 'limits exact' : null,
    figures.limited_per_second ? `429 ${short(figures.limited_per_second)}/s` : null,
    hits === null ? null : `key cache ${percent(hits)}`,
  ];
  return told.filter((note) => note !== null).join(', ');
}

const amount = (count: number | null, what: string) => (count === null ? null : `${count} ${what}`);
const percent = (ratio: number) => `${Math.round(ratio * 100)}%`;

/** Three digits where there are so many. */
function short(value: number): string {
  if (value >= 100 || value === 0) return String(Math.round(value));
  return value.toFixed(value >= 10 ? 1 : 2);
}

/** Both lists beside each other. */
function keyLines(shown: View['keys']): string[] {
  if (shown === null)
    return ['Keys are shown to operators alone: ADMIN_SECRETS is missing, or not that of the gateways.'];
  const { busiest, refused } = shown;
  if (busiest.length === 0) return ['No key was used in the last minute.'];
  const left = keyTable(KEY_HEADINGS, busiest);
  const right = refused.length > 0 ? keyTable(REFUSED_HEADINGS, refused) : ['NO KEY WAS REFUSED'];
  const width = Math.max(...left.map((line) => line.length));
  const count = Math.max(left.length, right.length);
  return Array.from({ length: count }, (_, index) =>
    `${(left[index] ?? '').padEnd(width)}    ${right[index] ?? ''}`.trimEnd(),
  );
}

const keyTable = (headings: readonly string[], counts: readonly KeyCount[]) =>
  table(
    headings,
    counts.map(({ key_id, requests, refused }) => [key_id, String(requests), String(refused)]),
  ).split('\n');
