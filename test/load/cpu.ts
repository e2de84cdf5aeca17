import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';

/** The unit of CPU times in /proc/PID/stat. */
const TICKS_PER_SECOND = 100;
const PAGE_BYTES = 4096;

interface Stat {
  parent: number;
  /** CPU seconds of children that have ended. */
  endedSeconds: number;
}

/** CPU seconds of a process and all its children so far, including children that have ended. */
export function cpuSeconds(pid: number): number {
  return family(pid).reduce((sum, member) => sum + (stat(member)?.endedSeconds ?? 0) + runSeconds(member), 0);
}

/** CPU seconds of all threads, from schedstat: its nanoseconds are exact enough for a short round, `stat` is not. */
function runSeconds(pid: number): number {
  const tasks = `/proc/${pid}/task`;
  const nanoseconds = listed(tasks).map((task) => Number(contentOf(`${tasks}/${task}/schedstat`).split(' ')[0]));
  return nanoseconds.reduce((sum, thread) => sum + thread, 0) / 1e9;
}

/** Returns no entries for a process that has ended. */
function listed(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** Returns 0 for a thread that has ended. */
function contentOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '0';
  }
}

/** Resident memory of a process in bytes, without its children. */
export function residentBytes(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')[1]) * PAGE_BYTES;
}

/** Pins a process, its threads and its children to cores, in the syntax of taskset: `0`, `0,1`. */
export function pin(pid: number, cores: string): void {
  for (const member of family(pid)) {
    // Skips processes that have ended meanwhile.
    if (stat(member)) execFileSync('taskset', ['-a', '-p', '-c', cores, String(member)], { stdio: 'ignore' });
  }
}

/** The process and all its descendants. */
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
