import { ReadCache } from '#kit/changes/read-cache.ts';
import type { Database } from '#kit/postgres/pool.ts';
import type { ServiceContext } from '#kit/service/service-context.ts';
import type { LookupConfig } from './config.ts';
import { accountName } from './domain/cached-links.ts';
import type { Link } from './store/links.ts';

/** The channel that carries the accounts whose link was removed. */
const REMOVALS_CHANNEL = 'lookup_removals';
/** Announced instead of accounts if any link may have been removed. */
const ANY_LINK = '*';

/** Creates the cache of links and the feed with which replicas tell each other of removed links. */
export function createLinkCache(service: ServiceContext<LookupConfig>, database: Database) {
  const { config } = service;
  const cache = new ReadCache<Link>({
    clock: service.clock,
    ttlMs: config.LINK_CACHE_SECONDS * 1000,
    max: config.LINK_CACHE_ENTRIES,
  });
  const invalidate = (name: string) => (name === ANY_LINK ? cache.invalidateAll() : cache.invalidate(name));
  const feed = service.changeFeed(config, {
    database,
    channel: REMOVALS_CHANNEL,
    onChanges: (names) => names.forEach(invalidate),
    onMissed: () => cache.invalidateAll(),
    // The replica may have ended after it committed a removal and before it announced it, so that the link is still cached here.
    onPeerLost: () => cache.invalidateAll(),
  });
  const changed = (name: string) => {
    invalidate(name);
    feed.announce(name);
  };
  return {
    cache,
    isReceiving: () => feed.isReceiving,
    /** Invalidates a removed link in all replicas. */
    removed: (guildId: string, { chatId, gameId }: Link): void => {
      changed(accountName(guildId, { chatId }));
      changed(accountName(guildId, { gameId }));
    },
    /** Invalidates the links of all guilds in all replicas. */
    invalidateAll: () => changed(ANY_LINK),
  };
}
