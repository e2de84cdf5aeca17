import { type RunningRedis, redisProgram, startRedis } from '#local/redis.ts';
import { installOnDebian } from '../debian.ts';

// Every test file uses a database of its own; an unused one takes some hundred bytes.
const DATABASES = 4096;

/**
 * Starts a private Redis server for the tests. On Debian, root installs it if it is missing; otherwise the error says
 * what to install.
 */
export async function startTestRedis(folder: string): Promise<RunningRedis> {
  if (redisProgram() === undefined) installOnDebian('redis-server');
  const redis = await startRedis({ folder, databases: DATABASES });
  if (redis === null) {
    throw new Error('The integration tests need a Redis server: install redis-server (or valkey-server) first.');
  }
  return redis;
}
