import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startRedisSentinel } from '#test/redis/nodes.ts';
import { type RedisUnderTest, replicasSuite } from './replicas.suite.ts';

replicasSuite('Redis behind a sentinel', ['a primary that is killed, its replica promoted'], startSentinel);

async function startSentinel(): Promise<RedisUnderTest> {
  const folder = mkdtempSync(join(tmpdir(), 'guild-data-sentinel-'));
  const { primary, replica, sentinel, url } = await startRedisSentinel(folder);
  const faults = [
    {
      name: 'a primary that is killed, its replica promoted',
      begin: () => primary.stop(),
      end: async () => undefined,
      endsItself: true,
    },
  ];
  const stop = async () => {
    await Promise.all([primary, replica, sentinel].map((node) => node.stop()));
    rmSync(folder, { recursive: true, force: true });
  };
  return { url, faults, stop };
}
