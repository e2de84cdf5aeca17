import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOT } from '#kit/files.ts';

const MAX_ARCHIVE_BYTES = 2 ** 30;

interface Lock {
  packages: Record<string, { version?: string; integrity?: string }>;
}

export interface Checkout {
  /** The folder with the files of the release. */
  root: string;
  remove(): void;
}

/** Writes the files of a commit or tag to a temporary folder, with the packages of its lockfile. */
export function checkOut(commit: string): Checkout {
  requireCommit(commit);
  const root = mkdtempSync(join(tmpdir(), 'guild-data-release-'));
  const remove = () => rmSync(root, { recursive: true, force: true });
  try {
    run('tar', ['-x', '-C', root], run('git', ['archive', commit]));
    install(root);
    return { root, remove };
  } catch (error) {
    remove();
    throw error;
  }
}

/** The text of each SQL file in a folder of a commit or tag, by its name, in order. */
export function sqlFilesOf(commit: string, folder: string): Map<string, string> {
  requireCommit(commit);
  const names = run('git', ['ls-tree', '--name-only', `${commit}:${folder}`])
    .toString()
    .split('\n');
  const files = names.filter((name) => name.endsWith('.sql')).toSorted();
  return new Map(files.map((name) => [name, run('git', ['show', `${commit}:${folder}/${name}`]).toString()]));
}

/** True if the commit is missing because this is a clone without the whole history, or no clone. */
export function isShallowWithout(commit: string): boolean {
  if (hasCommit(commit)) return false;
  const { stdout } = spawnSync('git', ['rev-parse', '--is-shallow-repository'], { cwd: ROOT, encoding: 'utf8' });
  return stdout?.trim() !== 'false';
}

const hasCommit = (commit: string): boolean =>
  spawnSync('git', ['cat-file', '-e', `${commit}^{commit}`], { cwd: ROOT }).status === 0;

function requireCommit(commit: string): void {
  if (!hasCommit(commit)) {
    throw new Error(`this checkout does not contain ${commit}: fetch the history (git fetch --unshallow --tags)`);
  }
}

/** Uses our packages if they include all packages of the other lockfile in the same versions; otherwise runs npm ci. */
function install(root: string): void {
  const ours = readLock(ROOT);
  const isOurs = ([path, { version, integrity }]: [string, Lock['packages'][string]]) =>
    ours.packages[path]?.version === version && ours.packages[path]?.integrity === integrity;
  const theirs = Object.entries(readLock(root).packages).filter(([path]) => path !== '');
  if (theirs.every(isOurs)) symlinkSync(join(ROOT, 'node_modules'), join(root, 'node_modules'));
  else run('npm', ['--prefix', root, 'ci', '--no-audit', '--no-fund', '--loglevel=error']);
}

function readLock(root: string): Lock {
  return JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as Lock;
}

function run(program: string, words: string[], input?: Buffer): Buffer {
  const { status, stdout, stderr, error } = spawnSync(program, words, {
    cwd: ROOT,
    input,
    maxBuffer: MAX_ARCHIVE_BYTES,
  });
  if (error) throw error;
  if (status !== 0) throw new Error(`${program} ${words[0]} failed: ${stderr.toString()}`);
  return stdout;
}
