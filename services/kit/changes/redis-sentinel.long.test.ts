import { startRedisSentinel } from '#test/redis/nodes.ts';
import { feedSuite } from './feed.suite.ts';
import { newFolder, removeFolder, TestFeeds } from './fixtures/feeds.ts';

feedSuite(
  'over Redis with Sentinel',
  ['primary killed, another promoted', 'primary hung, another promoted'],
  async () => {
    const folder = newFolder();
    const feeds = await TestFeeds.start();
    const system = await startRedisSentinel(folder);
    return {
      open: (handlers, isCutOff) => feeds.open(handlers, isCutOff, async () => system.url),
      faults: [
        { name: 'primary killed, another promoted', begin: () => system.primary.stop(), end: () => undefined },
        {
          name: 'primary hung, another promoted',
          begin: async () => void process.kill(system.primary.pid(), 'SIGSTOP'),
          end: () => void process.kill(system.primary.pid(), 'SIGCONT'),
        },
      ],
      stop: async () => {
        await feeds.stop();
        await Promise.all([system.primary, system.replica, system.sentinel].map((node) => node.stop()));
        removeFolder(folder);
      },
    };
  },
);
