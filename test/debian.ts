import { spawnSync } from 'node:child_process';
import { findProgram } from '#local/child.ts';

/** Installs a package that tests need, where that is possible: by root on Debian. */
export function installOnDebian(name: string): void {
  if (process.getuid?.() !== 0 || !findProgram('apt-get')) return;
  console.error(`Installing ${name} for the tests …`);
  const install = (): boolean => aptGet(['install', '--yes', '--no-install-recommends', name]) === 0;
  if (!install() && aptGet(['update']) === 0) install();
}

/** Tests in several processes may install at the same time: each waits for the other, in seconds. */
const WAIT_FOR_LOCK = 'DPkg::Lock::Timeout=120';

function aptGet(parameters: string[]): number | null {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  return spawnSync('apt-get', ['-qq', '-o', WAIT_FOR_LOCK, ...parameters], {
    env,
    stdio: ['ignore', 'ignore', 'inherit'],
  }).status;
}
