import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';

/** Linux counts the CPU time of processes in hundredths of a second, whatever its own timer does. */
const TICKS_PER_SECOND = 100;
const PAGE_BYTES = 4096;

interface Stat {
  parent: number;
  /** Those of children that ended. */
  endedSeconds: number;
}

/** CPU seconds that a process and its children have taken so far; those of children that ended are their parent's. */
export function cpuSeconds(pid: number): number {
  return family(pid).reduce((sum, member) => sum + (stat(member)?.endedSeconds ?? 0) + runSeconds(member), 0);
}

/** Of all threads, to the nanosecond: what `stat` tells is in hundredths of a second, too coarse for a short round. */
function runSeconds(pid: number): number {
  const tasks = `/proc/${pid}/task`;
  const nanoseconds = listed(tasks).map((task) => Number(contentOf(`${tasks}/${task}/schedstat`).split(' ')[0]));
  return nanoseconds.reduce((sum, thread) => sum + thread, 0) / 1e9;
}

/** Nothing of a process that has ended. */
function listed(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** Nothing of a thread that has ended. */
function contentOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '0';
  }
}

/** Resident memory of a process in bytes, its children left out. */
export function residentBytes(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')[1]) * PAGE_BYTES;
}

/** Keeps a process, its threads and its children to some cores, given as taskset's list: `0`, `0,1`. */
export function pin(pid: number, cores: string): void {
  for (const member of family(pid)) {
    // One that ended meanwhile needs no core.
    if (stat(member)) execFileSync('taskset', ['-a', '-p', '-c', cores, String(member)], { stdio: 'ignore' });
  }
}

/** A process and all that it started. */
function family(pid: number): number[] {
  const parents = new Map(
    readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .map((name) => [Number(name), stat(Number(name))?.parent ?? 0]),
  );
  const members = [pid];
  // Grows while it is walked.
  for (const member of members) {
    for (const [child, parent] of parents) if (parent === member) members.push(child);
  }
  return members;
}

function stat(pid: number): Stat | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The second field is the program's name, in brackets, and may hold blanks.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    const [endedUser = 0, endedSystem = 0] = fields.slice(13, 15).map(Number);
    return {
      parent: Number(fields[1]),
      endedSeconds: (endedUser + endedSystem) / TICKS_PER_SECOND,
    };
  } catch {
    return undefined;
  }
}
