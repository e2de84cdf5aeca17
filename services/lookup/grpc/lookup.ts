import { z } from 'zod';
import type { GrpcHandlers } from '#kit/grpc/definition.ts';
import { checked } from '#kit/http/validate.ts';
import type { LinkAdminServiceService } from '#proto/gen/guild/lookup/v1/admin.ts';
import type { LookupServiceService } from '#proto/gen/guild/lookup/v1/lookup.ts';
import { chatId, gameId, guildId, text } from '#proto/rest/schemas.ts';
import type { Links } from '../domain/links.ts';
import { historyMessage, pageMessage } from './views.ts';

/** The maximum number of users in one GetLinks call, for each kind of account. */
const MAX_USERS = 1_000;

const limit = z.int().min(1).max(100);
const operationId = z.uuid();

const getLinks = z.object({
  guildId,
  chatIds: z.array(chatId).max(MAX_USERS),
  gameIds: z.array(gameId).max(MAX_USERS),
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

const accountRequest = z.object({ guildId, account });

/** The maximum number of changes of a chat account's links that guildctl shows. */
const MAX_CHANGES = 100;

/** Returns the handlers of guild.lookup.v1.LinkAdminService, whose methods guildctl calls. */
export function linkAdminMethods(links: Links): GrpcHandlers<typeof LinkAdminServiceService> {
  return {
    async findAccounts(message) {
      const { guildId, account: given } = checked(accountRequest, message, 'request');
      const link = await links.findOne(guildId, given);
      return link ? { chatId: link.chatId, gameId: link.gameId } : given;
    },
    async showLink(message) {
      const { guildId, account: given } = checked(accountRequest, message, 'request');
      const chatId = 'chatId' in given ? given.chatId : (await links.findOne(guildId, given))?.chatId;
      if (chatId === undefined) return { changes: [] };
      return historyMessage(await links.history(guildId, chatId, MAX_CHANGES));
    },
  };
}

/** Returns the handlers of the gRPC service guild.lookup.v1.LookupService. */
export function lookupMethods(links: Links): GrpcHandlers<typeof LookupServiceService> {
  return {
    async getLinks(message) {
      const { guildId, ...users } = checked(getLinks, message, 'request');
      return { links: await links.find(guildId, users) };
    },
    async listLinks(message) {
      const { guildId, ...page } = checked(listLinks, message, 'request');
      return pageMessage(await links.list(guildId, page));
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
