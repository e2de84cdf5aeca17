import { readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

const FAST_PATIENCE = 8_000;
const PATIENCE = 12_000;

/**
 * Makes a PostgreSQL data folder usable after its supervisor was killed: ends server processes that still use it and
 * deletes `postmaster.pid`, whose process ID may meanwhile belong to an unrelated process.
 */
export async function endOldServerProcesses(data: string): Promise<void> {
  const begun = Date.now();
  for (let processes = serverProcesses(data); processes.length > 0; processes = serverProcesses(data)) {
    const waited = Date.now() - begun;
    if (waited > PATIENCE) throw new Error(`PostgreSQL processes ${processes.join(', ')} still use ${data}`);
    // First asks the postmaster to shut down; ends processes that remain without a checkpoint.
    const postmaster = postmasterPid(data);
    const isOrderly = postmaster !== undefined && processes.includes(postmaster) && waited < FAST_PATIENCE;
    if (isOrderly) signal([postmaster], 'SIGINT');
    else signal(processes, 'SIGQUIT');
    await pause(50);
  }
  rmSync(join(data, 'postmaster.pid'), { force: true });
}

/** The processes of the server. Each has the data folder as its working directory, which identifies it. */
function serverProcesses(data: string): number[] {
  if (process.platform !== 'linux') return [];
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => linkTarget(`/proc/${name}/cwd`) === data && isPostgres(linkTarget(`/proc/${name}/exe`)))
    .map(Number);
}

function isPostgres(program: string | undefined): boolean {
  // The kernel adds this mark when the program's file was replaced, which `npm ci` does.
  return program !== undefined && basename(program.replace(/ \(deleted\)$/, '')) === 'postgres';
}

function linkTarget(link: string): string | undefined {
  try {
    return readlinkSync(link);
  } catch {
    return undefined;
  }
}

function postmasterPid(data: string): number | undefined {
  try {
    return Number(readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n')[0]);
  } catch {
    return undefined;
  }
}

function signal(processes: readonly number[], name: NodeJS.Signals): void {
  for (const pid of processes) {
    try {
      process.kill(pid, name);
    } catch {
      // The process has ended meanwhile.
    }
  }
}
