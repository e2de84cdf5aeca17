import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startTcpProxy } from '#test/network/tcp-proxy.ts';
import { startRedisNode } from '#test/redis/nodes.ts';
import { type RedisUnderTest, replicasSuite } from './replicas.suite.ts';

const SLOW_MS = 2_000;

replicasSuite('one Redis', ['down and restarted', 'slow', 'half-open', 'hung', 'reset'], startOne);

async function startOne(): Promise<RedisUnderTest> {
  const folder = mkdtempSync(join(tmpdir(), 'guild-data-limits-'));
  const node = await startRedisNode(folder, []);
  const proxy = await startTcpProxy(node.port);
  return {
    url: `redis://127.0.0.1:${proxy.port}`,
    faults: [
      { name: 'down and restarted', begin: () => node.stop(), end: () => node.start() },
      { name: 'slow', begin: async () => proxy.slow(SLOW_MS), end: async () => proxy.slow(0) },
      { name: 'half-open', begin: async () => proxy.freezeAll(), end: async () => proxy.thaw() },
      {
        name: 'hung',
        begin: async () => void process.kill(node.pid(), 'SIGSTOP'),
        end: async () => void process.kill(node.pid(), 'SIGCONT'),
      },
      { name: 'reset', begin: async () => proxy.cut(), end: async () => undefined, endsItself: true },
    ],
    stop: async () => {
      await proxy.close();
      await node.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
