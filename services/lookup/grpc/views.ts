import { unixSeconds } from '#kit/clock.ts';
import type { LinkHistory, LinkPage } from '../domain/links.ts';

/** Converts a page of links to its form in gRPC responses. */
export const pageMessage = ({ links, unlinked, serverTime, next }: LinkPage) => ({
  links,
  unlinked: unlinked.map((removed) => ({ ...removed, unlinkedAt: unixSeconds(removed.unlinkedAt) })),
  serverTime: unixSeconds(serverTime),
  nextPosition: next ?? '',
});

/** Converts the current link of a chat account and the changes of its links to their form in gRPC responses. */
export const historyMessage = ({ link, changes }: LinkHistory) => ({
  link,
  changes: changes.map((change) => ({ ...change, createdAt: unixSeconds(change.createdAt) })),
});
