import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '#kit/files.ts';

const LOCK = 'package-lock.json';

/** Writes the source of an earlier commit of this repository to a folder, with its packages. */
export function checkOut(revision: string, folder: string): void {
  mkdirSync(folder, { recursive: true });
  const archive = execFileSync('git', ['-C', ROOT, 'archive', revision], { maxBuffer: 2 ** 30 });
  execFileSync('tar', ['-x', '-C', folder], { input: archive });
  // The same packages need no second copy.
  if (readFileSync(join(folder, LOCK), 'utf8') === readFileSync(join(ROOT, LOCK), 'utf8')) {
    symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  } else {
    execFileSync('npm', ['ci'], { cwd: folder, stdio: 'ignore' });
  }
}
