import { startTcpProxy } from '#test/network/tcp-proxy.ts';
import { startRedisNode } from '#test/redis/nodes.ts';
import { feedSuite } from './feed.suite.ts';
import { networkFaults, newFolder, removeFolder, TestFeeds } from './fixtures/feeds.ts';

const kinds = ['down', 'slow', 'half-open', 'reset', 'held'];
const faults = [
  ...kinds.map((fault) => `Redis for one process ${fault}`),
  ...kinds.map((fault) => `LISTEN ${fault}`),
  'Redis hung',
  'Redis restarted',
  'Redis and LISTEN of one process half-open',
];

feedSuite('over Redis', faults, async () => {
  const folder = newFolder();
  const feeds = await TestFeeds.start();
  const redis = await startRedisNode(folder, []);
  const proxy = await startTcpProxy(redis.port);
  const both = [proxy, feeds.listen];
  return {
    open: (handlers, isCutOff) =>
      feeds.open(
        handlers,
        isCutOff,
        async (through) => `redis://127.0.0.1:${await through(isCutOff ? proxy.port : redis.port)}`,
      ),
    faults: [
      ...networkFaults([proxy], 'Redis for one process'),
      ...networkFaults([feeds.listen], 'LISTEN'),
      {
        name: 'Redis hung',
        begin: () => void process.kill(redis.pid(), 'SIGSTOP'),
        end: () => void process.kill(redis.pid(), 'SIGCONT'),
      },
      { name: 'Redis restarted', begin: () => redis.stop(), end: () => redis.start() },
      {
        name: 'Redis and LISTEN of one process half-open',
        begin: () => both.forEach((one) => one.freezeAll()),
        end: () => both.forEach((one) => one.thaw()),
      },
    ],
    stop: async () => {
      await feeds.stop();
      await proxy.close();
      await redis.stop();
      removeFolder(folder);
    },
  };
});
