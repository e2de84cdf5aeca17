import { accessSync, constants, mkdtempSync, readdirSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Where Linux has a file system in memory. */
const MEMORY_FOLDER = '/dev/shm';
/** Twice as much as the databases of a whole run take. */
const MIN_FREE_BYTES = 6 * 2 ** 30;
const NAME = /^guild-data-test-(\d+)-/;

/**
 * Creates the folder for the servers of one test run: in memory where there is enough of it, because the tests create
 * and drop hundreds of databases. Deletes the folders of runs that were killed.
 */
export function createRunFolder(parent = hasEnoughMemory() ? MEMORY_FOLDER : tmpdir()): string {
  for (const name of readdirSync(parent)) {
    const pid = NAME.exec(name)?.[1];
    if (pid !== undefined && !isAlive(Number(pid))) rmSync(join(parent, name), { recursive: true, force: true });
  }
  return mkdtempSync(join(parent, `guild-data-test-${process.pid}-`));
}

function hasEnoughMemory(): boolean {
  try {
    accessSync(MEMORY_FOLDER, constants.W_OK);
    const { bavail, bsize } = statfsSync(MEMORY_FOLDER);
    return bavail * bsize >= MIN_FREE_BYTES;
  } catch {
    return false;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // Another user's process, which this one may not signal, is alive too.
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}
