import { spawnSync } from 'node:child_process';
import { findProgram } from '#local/child.ts';
import { type RunningRedis, redisProgram, startRedis } from '#local/redis.ts';

// Every test file uses a database of its own; an unused one takes some hundred bytes.
const DATABASES = 4096;

/**
 * Starts a private Redis server for the tests. On Debian, root installs it if it is missing; otherwise the error says
 * what to install.
 */
export async function startTestRedis(folder: string): Promise<RunningRedis> {
  if (redisProgram() === undefined && process.getuid?.() === 0 && findProgram('apt-get')) installRedis();
  const redis = await startRedis({ folder, databases: DATABASES });
  if (redis === null) {
    throw new Error('The integration tests need a Redis server: install redis-server (or valkey-server) first.');
  }
  return redis;
}

function installRedis(): void {
  console.error('Installing redis-server for the integration tests …');
  const environment = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const install = (): boolean =>
    run(['install', '--yes', '--no-install-recommends', 'redis-server'], environment) === 0;
  if (!install() && run(['update'], environment) === 0) install();
}

function run(parameters: string[], environment: NodeJS.ProcessEnv): number | null {
  return spawnSync('apt-get', ['-qq', ...parameters], { env: environment, stdio: ['ignore', 'ignore', 'inherit'] })
    .status;
}
