import { z } from 'zod';
import { unixSeconds } from '#kit/clock.ts';
import type { GrpcHandlers } from '#kit/grpc/definition.ts';
import { checked } from '#kit/http/validate.ts';
import type { LinkAdminServiceService } from '#proto/gen/guild/lookup/v1/admin.ts';
import type { LookupServiceService } from '#proto/gen/guild/lookup/v1/lookup.ts';
import { chatId, gameId, guildId, text } from '#proto/rest/schemas.ts';
import type { LinkHistory, Links } from '../domain/links.ts';

/** The most users of one GetLinks, on either side. */
const MOST_USERS = 1_000;

const limit = z.int().min(1).max(100);
const operationId = z.uuid();

const getLinks = z.object({
  guildId,
  chatIds: z.array(chatId).max(MOST_USERS),
  gameIds: z.array(gameId).max(MOST_USERS),
});
const listLinks = z.object({
  guildId,
  updatedSince: z.int().min(0).max(99_999_999_999),
  limit,
  position: z.string().max(64),
  withUnlinked: z.boolean(),
});
const countLinks = z.object({ guildId });
const listHistory = z.object({ guildId, chatId, limit });
const createLink = z.object({ guildId, operationId, chatId, gameId, gameUsername: text(1, 50) });
const account = z.discriminatedUnion('$case', [
  z.object({ $case: z.literal('chatId'), value: chatId }).transform(({ value }) => ({ chatId: value })),
  z.object({ $case: z.literal('gameId'), value: gameId }).transform(({ value }) => ({ gameId: value })),
]);
const deleteLink = z.object({ guildId, operationId, account });

const ofAccount = z.object({ guildId, account });

/** Changes of links that an operator is shown. */
const MAX_CHANGES = 100;

/** What guildctl calls. */
export function linkAdminMethods(links: Links): GrpcHandlers<typeof LinkAdminServiceService> {
  return {
    async findAccounts(message) {
      const { guildId, account: given } = checked(ofAccount, message, 'request');
      const link = await links.findOne(guildId, given);
      return link ? { chatId: link.chatId, gameId: link.gameId } : given;
    },
    async showLink(message) {
      const { guildId, account: given } = checked(ofAccount, message, 'request');
      const chatId = 'chatId' in given ? given.chatId : (await links.findOne(guildId, given))?.chatId;
      if (chatId === undefined) return { changes: [] };
      return historyMessage(await links.history(guildId, chatId, MAX_CHANGES));
    },
  };
}

/** The methods of guild.lookup.v1.LookupService. */
export function lookupMethods(links: Links): GrpcHandlers<typeof LookupServiceService> {
  return {
    async getLinks(message) {
      const { guildId, ...users } = checked(getLinks, message, 'request');
      return { links: await links.find(guildId, users) };
    },
    async listLinks(message) {
      const { guildId, ...page } = checked(listLinks, message, 'request');
      const { links: found, unlinked, serverTime, next } = await links.list(guildId, page);
      return {
        links: found,
        unlinked: unlinked.map((gone) => ({ ...gone, unlinkedAt: unixSeconds(gone.unlinkedAt) })),
        serverTime: unixSeconds(serverTime),
        nextPosition: next ?? '',
      };
    },
    async countLinks(message) {
      const { guildId } = checked(countLinks, message, 'request');
      return { count: await links.count(guildId) };
    },
    async listHistory(message) {
      const { guildId, chatId, limit } = checked(listHistory, message, 'request');
      return historyMessage(await links.history(guildId, chatId, limit));
    },
    async createLink(message) {
      const { guildId, operationId, ...link } = checked(createLink, message, 'request');
      return { link: await links.create(guildId, operationId, link) };
    },
    async deleteLink(message) {
      const { guildId, operationId, account } = checked(deleteLink, message, 'request');
      return { link: await links.delete(guildId, operationId, account) };
    },
  };
}

const historyMessage = ({ link, changes }: LinkHistory) => ({
  link,
  changes: changes.map((change) => ({ ...change, createdAt: unixSeconds(change.createdAt) })),
});
