import { feedSuite } from './feed.suite.ts';
import { networkFaults, TestFeeds } from './fixtures/feeds.ts';

const faults = ['down', 'slow', 'half-open', 'reset', 'held'].map((fault) => `LISTEN ${fault}`);

feedSuite('over PostgreSQL', faults, async () => {
  const feeds = await TestFeeds.start();
  return {
    open: (handlers, isCutOff) => feeds.open(handlers, isCutOff),
    faults: networkFaults([feeds.listen], 'LISTEN'),
    stop: () => feeds.stop(),
  };
});
