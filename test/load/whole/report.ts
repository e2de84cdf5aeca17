import { median } from '../stage.ts';
import { printTable } from '../table.ts';
import { type Cpu, totalOf, type Whole } from './drive.ts';

/** The most CPU of a request, relative to the earlier version. */
const MAX_OF_EARLIER: Record<string, number> = { 'lookup by game': 1 / 2, heartbeat: 1 / 2, 'status of 25': 2 / 3 };
/** The most CPU of a request, relative to the cheapest yardstick. */
const MAX_OF_YARDSTICK = 1.5;

/** A bound on the CPU of a request. */
export interface WholeTarget {
  name: string;
  value: number;
  max: number;
}

/** Returns the bounds that this run has figures for. */
export function wholeTargets(results: readonly Whole[]): WholeTarget[] {
  return results
    .filter(({ kind }) => kind === 'this version')
    .flatMap((ours) => {
      const others = results.filter(({ scenario, kind }) => scenario === ours.scenario && kind !== 'this version');
      const earlier = others.find(({ kind }) => kind === 'earlier version');
      const yardsticks = others.filter(({ kind }) => kind === 'yardstick');
      const [cheapest] = yardsticks.toSorted((a, b) => medianOf(a) - medianOf(b));
      const targets: WholeTarget[] = [];
      const compare = (name: string, other: Whole, max: number) =>
        targets.push({
          name: `${ours.scenario}, CPU of all processes, relative to ${name}`,
          value: ratio(ours, other),
          max,
        });
      if (earlier) compare(earlier.name, earlier, MAX_OF_EARLIER[ours.scenario] ?? 1);
      if (cheapest) compare(`the cheapest yardstick (${cheapest.name})`, cheapest, MAX_OF_YARDSTICK);
      return targets;
    });
}

export function printWhole(results: readonly Whole[]): void {
  const parts: (keyof Cpu)[] = ['gateway', 'services', 'postgres', 'redis'];
  printTable(
    [
      'request',
      'program',
      'requests/s',
      'CPU µs',
      'gateway',
      'services',
      'PostgreSQL',
      'Redis',
      'requests per CPU second',
    ],
    results.map((one) => [
      one.scenario,
      one.name,
      median(one.perSecond).toFixed(0),
      medianOf(one).toFixed(0),
      ...parts.map((part) => median(one.rounds.map((cpu) => cpu[part])).toFixed(0)),
      (1e6 / medianOf(one)).toFixed(0),
    ]),
  );
}

const medianOf = ({ rounds }: Whole) => median(rounds.map(totalOf));

/** The median of the ratios of all rounds, because the machine's speed changes between rounds. */
const ratio = (one: Whole, other: Whole) =>
  median(one.rounds.map((cpu, round) => totalOf(cpu) / totalOf(other.rounds[round] as Cpu)));
