import type { GrpcClient } from '#kit/grpc/client.ts';
import type { Link, LookupServiceService } from '#proto/gen/guild/lookup/v1/lookup.ts';
import { notVerified } from './rejections.ts';

type Lookup = Pick<GrpcClient<typeof LookupServiceService>, 'getLinks'>;

/** A member, identified by the chat account or by the game account. */
export interface MemberAccount {
  chatId: string | undefined;
  gameId: number | undefined;
}

/** Returns the link of a member now; undefined if there is none. */
export async function findLink(
  lookup: Lookup,
  guildId: string,
  { chatId, gameId }: MemberAccount,
): Promise<Link | undefined> {
  const chatIds = chatId === undefined ? [] : [chatId];
  const gameIds = gameId === undefined ? [] : [gameId];
  const { links } = await lookup.getLinks({ guildId, chatIds, gameIds });
  return links[0];
}

/** Returns the link of a member now. Throws NOT_FOUND if there is none. */
export async function linkOf(lookup: Lookup, guildId: string, account: MemberAccount): Promise<Link> {
  const link = await findLink(lookup, guildId, account);
  if (link) return link;
  throw notVerified();
}

/** Adds to each member its link, with one call for all members. */
export async function withLinks<Member extends { chatId: string }>(
  lookup: Lookup,
  guildId: string,
  members: readonly Member[],
): Promise<(Member & { link: Link | undefined })[]> {
  if (members.length === 0) return [];
  const chatIds = members.map(({ chatId }) => chatId);
  const { links } = await lookup.getLinks({ guildId, chatIds, gameIds: [] });
  const byChatId = new Map(links.map((link) => [link.chatId, link]));
  return members.map((member) => ({ ...member, link: byChatId.get(member.chatId) }));
}
