import type { LoadGenerator } from './load.ts';
import type { RunningSystem } from './running.ts';
import type { World } from './scenarios.ts';

/** What is measured has a core to itself. */
export const MEASURED_CORE = '0';
export const OTHER_CORE = '1';

/** Requests a second beside saturation. */
export const RATES = [500, 1_500] as const;
/** How many connections saturate. */
export const SATURATING = 32;
/** The most connections where the rate is given. */
export const MOST_CONNECTIONS = 256;
export const WARM_UP_SECONDS = 2;

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

/** The middle one; of an even count the lower. */
export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor((values.length - 1) / 2)] ?? Number.NaN;
}
