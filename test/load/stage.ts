import type { Load } from './generator.ts';
import type { Figures, LoadGenerator } from './load.ts';
import type { RunningSystem } from './running.ts';
import type { World } from './world.ts';

/** The measured process has a core to itself. */
export const MEASURED_CORE = '0';
export const OTHER_CORE = '1';

/** The rates in requests per second that are measured besides saturation. */
export const RATES = [500, 1_500] as const;
/** The number of connections that saturates a process. */
const SATURATING_CONNECTIONS = 32;
/** The most connections at a given rate. */
const MAX_CONNECTIONS = 256;
const WARM_UP_SECONDS = 2;

/** The parts that every measurement needs. */
export interface Stage {
  folder: string;
  system: RunningSystem;
  world: World;
  generator: LoadGenerator;
  /** The duration of each measurement. */
  seconds: number;
  rounds: number;
  /** Only programs and scenarios whose names match are measured. */
  filter: RegExp;
}

/** Requests per second; `undefined` is saturation. */
export type Rate = number | undefined;

export const nameOfRate = (rate: Rate): string => (rate === undefined ? 'saturation' : `${rate}/s`);

/** The quantile of the values, interpolated linearly. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const place = (sorted.length - 1) * share;
  const [low = Number.NaN, high = low] = sorted.slice(Math.floor(place));
  return low + (high - low) * (place % 1);
}

export const median = (values: readonly number[]): number => quantile(values, 0.5);

/** Thrown if some responses had another status than expected, because their figures would be meaningless. */
export class UnexpectedStatus extends Error {}

const RATE_LIMITED = 429;
/** A new rate limit window may begin during the measurement and allow a request. */
const MAX_ALLOWED = 1;

interface Measurement {
  /** The status of every response. */
  status: number;
  processes: Record<string, number>;
  warmUpSeconds?: number;
  /** The number of connections to each port at saturation, and the most of all at a given rate. */
  connections?: number | undefined;
}

/** Warms up and measures. Throws UnexpectedStatus unless every response had the status. */
export async function measureAt(
  { generator, seconds }: Stage,
  target: Pick<Load, 'host' | 'ports' | 'requests' | 'isAwake'>,
  rate: Rate,
  { status, processes, warmUpSeconds = WARM_UP_SECONDS, connections: wanted }: Measurement,
): Promise<Figures> {
  const saturating = (wanted ?? SATURATING_CONNECTIONS) * target.ports.length;
  const connections = rate === undefined ? saturating : (wanted ?? MAX_CONNECTIONS);
  const load = rate === undefined ? { connections } : { rate, connections };
  const figures = await generator.measure({ ...target, ...load, warmUpSeconds, seconds, processes });
  const responses = Object.entries(figures.statuses);
  const others = responses.reduce((sum, [seen, count]) => (Number(seen) === status ? sum : sum + count), 0);
  if (others > (status === RATE_LIMITED ? MAX_ALLOWED : 0))
    throw new UnexpectedStatus(`expected only status ${status}, got ${JSON.stringify(figures.statuses)}`);
  return figures;
}
