import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { Origin } from './image/image.ts';

const packageShape = z.object({ version: z.string() });

/** The version in package.json and the commit from which a release is made. Its time is the time of everything in it. */
export function originOf(repository: string): Origin {
  const { version } = packageShape.parse(JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8')));
  const [commit = '', seconds] = git(repository, 'show', '--no-patch', '--format=%H %ct', 'HEAD').trim().split(' ');
  return { version, commit, committed: new Date(Number(seconds) * 1000) };
}

/** Returns the uncommitted changes. A release must have none, because its provenance names the commit. */
export function uncommitted(repository: string): string[] {
  return git(repository, 'status', '--porcelain').split('\n').filter(Boolean);
}

function git(repository: string, ...parameters: string[]): string {
  const { status, stdout, stderr } = spawnSync('git', parameters, { cwd: repository, encoding: 'utf8' });
  if (status !== 0) throw new Error(`git ${parameters[0]} failed: ${stderr}`);
  return stdout;
}
