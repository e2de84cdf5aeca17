import type { Load } from './generator.ts';
import type { Figures, LoadGenerator } from './load.ts';
import type { RunningSystem } from './running.ts';
import type { World } from './scenarios.ts';

/** What is measured has a core to itself. */
export const MEASURED_CORE = '0';
export const OTHER_CORE = '1';

/** Requests a second beside saturation. */
export const RATES = [500, 1_500] as const;
/** How many connections saturate a process. */
const SATURATING = 32;
/** The most connections where the rate is given. */
const MOST_CONNECTIONS = 256;
const WARM_UP_SECONDS = 2;

/** All that a measurement needs. */
export interface Stage {
  folder: string;
  system: RunningSystem;
  world: World;
  generator: LoadGenerator;
  /** How long each measurement takes. */
  seconds: number;
  rounds: number;
  /** Programs and scenarios whose names do not match are left out. */
  filter: RegExp;
}

/** What is done to whom: `undefined` is saturation. */
export type Rate = number | undefined;

export const nameOfRate = (rate: Rate): string => (rate === undefined ? 'saturation' : `${rate}/s`);

/** The value below which such a share of them lies, between two in proportion. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const place = (sorted.length - 1) * share;
  const [low = Number.NaN, high = low] = sorted.slice(Math.floor(place));
  return low + (high - low) * (place % 1);
}

export const median = (values: readonly number[]): number => quantile(values, 0.5);

/** Some answers had another status: a figure of something else is worth nothing. */
export class OtherAnswers extends Error {}

const RATE_LIMITED = 429;
/** A window of 60 s may begin meanwhile, and its first request passes. */
const MOST_PASSING = 1;

interface Measurement {
  /** What every answer has. */
  status: number;
  processes: Record<string, number>;
  warmUpSeconds?: number;
}

/** Warms up and measures; OtherAnswers unless every answer had the status. */
export async function measureAt(
  { generator, seconds }: Stage,
  target: Pick<Load, 'host' | 'ports' | 'requests' | 'isAwake'>,
  rate: Rate,
  { status, processes, warmUpSeconds = WARM_UP_SECONDS }: Measurement,
): Promise<Figures> {
  const connections = rate === undefined ? SATURATING * target.ports.length : MOST_CONNECTIONS;
  const load = rate === undefined ? { connections } : { rate, connections };
  const figures = await generator.measure({ ...target, ...load, warmUpSeconds, seconds, processes });
  const answers = Object.entries(figures.statuses);
  const others = answers.reduce((sum, [seen, count]) => (Number(seen) === status ? sum : sum + count), 0);
  if (others > (status === RATE_LIMITED ? MOST_PASSING : 0))
    throw new OtherAnswers(`expected ${status} alone, got ${JSON.stringify(figures.statuses)}`);
  return figures;
}
