import { unixSeconds } from '#kit/clock.ts';
import type { LinkHistory, LinkPage } from '../domain/links.ts';

/** A page of links in gRPC responses. */
export const pageMessage = ({ links, unlinked, serverTime, next }: LinkPage) => ({
  links,
  unlinked: unlinked.map((removed) => ({ ...removed, unlinkedAt: unixSeconds(removed.unlinkedAt) })),
  serverTime: unixSeconds(serverTime),
  nextPosition: next ?? '',
});

/** The link and the history of a chat account in gRPC responses. */
export const historyMessage = ({ link, changes }: LinkHistory) => ({
  link,
  changes: changes.map((change) => ({ ...change, createdAt: unixSeconds(change.createdAt) })),
});
