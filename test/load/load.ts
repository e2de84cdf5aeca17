import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { cpuSeconds, pin, residentBytes } from './cpu.ts';
import type { Load, Measured } from './generator.ts';

export interface Figures extends Measured {
  perSecond: number;
  /** CPU microseconds per response, by the names of the processes. */
  cpu: Record<string, number>;
  /** Resident bytes afterwards, by the names of the processes. */
  memory: Record<string, number>;
}

export interface LoadOptions extends Load {
  warmUpSeconds: number;
  /** The processes whose CPU time is measured, by name. */
  processes: Readonly<Record<string, number>>;
}

/** Sends load from a process of its own, so that its own CPU time is not measured. */
export class LoadGenerator {
  readonly #child: ChildProcess;

  constructor(cores: string) {
    this.#child = fork(join(import.meta.dirname, 'generator.ts'), { serialization: 'advanced' });
    if (this.#child.pid) pin(this.#child.pid, cores);
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** Warms up, then measures. */
  async measure({ warmUpSeconds, processes, ...load }: LoadOptions): Promise<Figures> {
    if (warmUpSeconds > 0) await this.#run({ ...load, seconds: warmUpSeconds });
    const all = { ...processes, generator: this.pid };
    const before = mapValues(all, cpuSeconds);
    const measured = await this.#run(load);
    const responses = Object.values(measured.statuses).reduce((sum, count) => sum + count, 0);
    const cpu = mapValues(all, (pid, name) => ((cpuSeconds(pid) - (before[name] ?? 0)) * 1e6) / responses);
    const memory = mapValues(processes, residentBytes);
    return { ...measured, perSecond: measured.answered / measured.seconds, cpu, memory };
  }

  stop(): void {
    this.#child.disconnect();
  }

  async #run(load: Load): Promise<Measured> {
    this.#child.send(load);
    const [measured] = (await once(this.#child, 'message')) as [Measured];
    return measured;
  }
}

function mapValues<In, Out>(record: Readonly<Record<string, In>>, map: (value: In, name: string) => Out) {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, map(value, name)]));
}
