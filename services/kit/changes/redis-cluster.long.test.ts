import { startCluster } from '../limits/fixtures/cluster.ts';
import { feedSuite } from './feed.suite.ts';
import { networkFaults, TestFeeds } from './fixtures/feeds.ts';

const kinds = ['down', 'slow', 'half-open', 'reset', 'held'];

feedSuite('over a Redis Cluster', [...kinds.map((fault) => `all nodes ${fault}`), 'one node hung'], async () => {
  const feeds = await TestFeeds.start();
  const cluster = await startCluster();
  const pid = () => cluster.masters[0]?.node.pid() ?? 0;
  return {
    open: (handlers, isCutOff) => feeds.open(handlers, isCutOff, async () => cluster.url),
    faults: [
      ...networkFaults(
        cluster.masters.map(({ proxy }) => proxy),
        'all nodes',
      ),
      {
        name: 'one node hung',
        begin: () => void process.kill(pid(), 'SIGSTOP'),
        end: () => void process.kill(pid(), 'SIGCONT'),
      },
    ],
    stop: async () => {
      await feeds.stop();
      await cluster.stop();
    },
  };
});
