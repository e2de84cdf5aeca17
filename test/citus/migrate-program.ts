import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { pathOf } from '#kit/files.ts';

/** The exit status of a program, and the lines that it printed to standard output and standard error. */
export interface Program {
  status: number;
  lines: string[];
}

/** Runs `deploy/migrate.ts` as a process, and returns its exit status and the lines that it printed. */
export async function migrate(environment: Record<string, string>): Promise<Program> {
  const program = promisify(execFile)(process.execPath, [pathOf('deploy/migrate.ts')], { env: environment });
  const { stdout, stderr, code } = await program.then(
    (done) => ({ ...done, code: 0 }),
    (error: { stdout: string; stderr: string; code: number }) => error,
  );
  return { status: code, lines: `${stdout}${stderr}`.split('\n').filter((line) => line !== '') };
}
