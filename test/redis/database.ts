import { Redis } from 'ioredis';
import { inject } from 'vitest';

/**
 * The URL of an empty Redis database that no other test uses. Published messages are not separated: Redis delivers them
 * to subscribers of every database.
 */
export async function testRedisUrl(): Promise<string> {
  const url = inject('redisUrl');
  const counter = new Redis(url);
  try {
    // Database 0 only holds this counter.
    return `${url}/${await counter.incr('databases')}`;
  } finally {
    counter.disconnect();
  }
}
