import { execFileSync } from 'node:child_process';
import { readdirSync, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { describe } from 'vitest';
import { type Child, describeExit, findProgram, startChild } from '#local/child.ts';

/** Programs that a backup and a restore need; the embedded PostgreSQL has none of the clients. */
const PROGRAMS = ['initdb', 'postgres', 'pg_dump', 'pg_dumpall', 'pg_restore', 'pg_basebackup', 'psql'] as const;
export type PostgresProgram = (typeof PROGRAMS)[number];

/** Debian has a folder for each major version. */
const DEBIAN = '/usr/lib/postgresql';
// "nobody" of every Linux distribution: PostgreSQL refuses to run as root.
const UNPRIVILEGED = { uid: 65_534, gid: 65_534 };

/** A PostgreSQL server with its programs. */
export interface Installation {
  /** The major version. */
  version: string;
  folder: string;
}

/** The installations of this machine: those of Debian, and the folders in PG_BIN; the oldest version first. */
export function findInstallations(environment: NodeJS.ProcessEnv = process.env): Installation[] {
  const named = (environment['PG_BIN'] ?? '').split(delimiter).filter((folder) => folder !== '');
  const folders = named.length > 0 ? named : debianFolders();
  const missing = named.filter((folder) => !isComplete(folder));
  if (missing.length > 0)
    throw new Error(`PG_BIN names ${missing.join(', ')}, which lacks one of ${PROGRAMS.join(', ')}`);
  return folders
    .filter(isComplete)
    .map((folder) => ({ folder, version: majorVersion(folder) }))
    .toSorted((one, other) => Number(one.version) - Number(other.version));
}

/** Runs tests for each installation of this machine. Reports them as skipped where there is none. */
export function describeInstallations(tests: (installation: Installation) => void): void {
  const found = findInstallations();
  if (found.length === 0) {
    console.log(`NOT CHECKED: there is no PostgreSQL with its tools in ${DEBIAN}, and PG_BIN names none`);
  }
  const shown = found.length > 0 ? found : [{ version: 'is not installed', folder: '' }];
  describe.skipIf(found.length === 0).each(shown)('PostgreSQL $version', (installation) => {
    tests(installation);
  });
}

/** The user who owns the files of a server when this process is root. */
export function serverUser(): { uid: number; gid: number } | undefined {
  return process.getuid?.() === 0 ? UNPRIVILEGED : undefined;
}

/** Runs a program of an installation to its end, and returns what it printed on standard output. */
export function runProgram(
  { folder }: Installation,
  program: PostgresProgram,
  parameters: readonly string[],
): Promise<string> {
  return runToEnd(program, [join(folder, program), ...parameters], bareEnvironment());
}

/**
 * Runs commands as an operator types them, in a shell whose path begins with the installation's programs. Stops at the
 * first command that fails.
 */
export function runCommands(
  installation: Installation,
  commands: string,
  { folder, variables }: { folder: string; variables: Record<string, string> },
): Promise<string> {
  const environment = bareEnvironment();
  const path = `${installation.folder}${delimiter}${environment['PATH']}`;
  return runToEnd(commands, ['/bin/sh', '-ec', `cd "$0"\n${commands}`, folder], {
    ...environment,
    ...variables,
    PATH: path,
  });
}

async function runToEnd(
  name: string,
  command: readonly [string, ...string[]],
  environment: NodeJS.ProcessEnv,
): Promise<string> {
  const printed = { stdout: '', stderr: '' };
  const child: Child = await startChild({
    command,
    environment,
    owner: serverUser(),
    output: (text, stream) => (printed[stream] += text),
  });
  const exit = await child.exited;
  if (exit.code !== 0) throw new Error(`${name} ended with ${describeExit(exit)}: ${printed.stderr}`);
  return printed.stdout;
}

/** Without the PG… variables of the user's shell, which would change what the programs do. */
export function bareEnvironment(): NodeJS.ProcessEnv {
  return { PATH: process.env['PATH'], LC_ALL: 'C', TZ: 'UTC' };
}

function debianFolders(): string[] {
  if (!statSync(DEBIAN, { throwIfNoEntry: false })?.isDirectory()) return [];
  return readdirSync(DEBIAN).map((version) => join(DEBIAN, version, 'bin'));
}

function isComplete(folder: string): boolean {
  return PROGRAMS.every((program) => findProgram(program, folder) !== undefined);
}

/** As in `postgres (PostgreSQL) 15.14 (Debian 15.14-0+deb12u1)`. */
function majorVersion(folder: string): string {
  const printed = execFileSync(join(folder, 'postgres'), ['--version'], { encoding: 'utf8' });
  return /\) (\d+)/.exec(printed)?.[1] ?? printed.trim();
}
