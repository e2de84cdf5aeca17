import { ApiError, invalidRequest } from '#kit/errors.ts';
import type { GrpcClient } from '#kit/grpc/client.ts';
import type { HttpHandlers } from '#kit/http/app.ts';
import { decodeCursor, encodeCursor } from '#kit/http/cursor.ts';
import { ok } from '#kit/http/envelope.ts';
import type { LookupServiceService } from '#proto/gen/guild/lookup/v1/lookup.ts';
import type { membersRoutes } from '#proto/rest/members.ts';
import type { Secret, VerificationTokens } from '../domain/tokens.ts';
import type { Verification } from '../domain/verification.ts';
import { type changeViews, linkView, unlinkedView } from './views.ts';

/** The maximum number of entries that a response shows of the link history of a chat account. */
const MAX_CHANGES = 100;

export interface MembersHandlersOptions {
  lookup: GrpcClient<typeof LookupServiceService>;
  tokens: VerificationTokens;
  verification: Verification<typeof changeViews>;
}

/** The handlers of the REST routes in proto/rest/members.ts. */
export function membersHandlers({
  lookup,
  tokens,
  verification,
}: MembersHandlersOptions): HttpHandlers<typeof membersRoutes> {
  return {
    async listVerified({ guildId, query }) {
      const { limit, cursor, updated_since: updatedSince } = query;
      const scope = { route: 'listVerified', guildId, filters: { updatedSince } };
      const position = cursor === undefined ? '' : decodeCursor(scope, cursor);
      const withUnlinked = updatedSince !== undefined;
      const page = { guildId, updatedSince: updatedSince ?? 0, withUnlinked, limit, position };
      const { links, unlinked, serverTime, nextPosition } = await lookup.listLinks(page).catch(rethrowInvalidPosition);
      const next = nextPosition === '' ? null : encodeCursor(scope, nextPosition);
      const rest = { server_time: serverTime, next_cursor: next };
      const users = links.map(linkView);
      return ok(withUnlinked ? { users, unlinked: unlinked.map(unlinkedView), ...rest } : { users, ...rest });
    },
    async getLinks({ guildId, params }) {
      const { link, changes } = await lookup.listHistory({ guildId, chatId: params.chatId, limit: MAX_CHANGES });
      const history = changes.map((change) => ({
        action: change.action as 'linked' | 'unlinked',
        chat_id: change.chatId,
        game_id: change.gameId,
        game_username: change.gameUsername,
        created_at: change.createdAt,
      }));
      return ok({ link: link ? linkView(link) : null, history });
    },
    createToken: ({ write, body }) => tokens.create(write, body.chat_id, body.ttl_seconds),
    getToken: async ({ guildId, params }) => ok(await tokens.status(guildId, params.token)),
    redeemToken: ({ write, body }) =>
      verification.redeem(write, secretOf(body), { gameId: body.game_id, gameUsername: body.game_username }),
    createLink: ({ write, body }) =>
      verification.link(write, { chatId: body.chat_id, gameId: body.game_id, gameUsername: body.game_username }),
    deleteLink: ({ write, body }) => verification.unlink(write, { chatId: body.chat_id, gameId: body.game_id }),
  };
}

/** Returns the code or token of a redeem request. The request schema ensures that exactly one of the two is set. */
function secretOf({ code, token }: { code?: string; token?: string }): Secret {
  return code === undefined ? { token: token ?? '' } : { code };
}

/**
 * Turns the lookup service's rejection of a list position into an error about the cursor: the position comes from a
 * forged cursor, and the client knows nothing of positions.
 */
function rethrowInvalidPosition(error: unknown): never {
  if (!(error instanceof ApiError) || error.code !== 'INVALID_REQUEST') throw error;
  throw invalidRequest([{ path: 'query.cursor', message: 'is not a next_cursor of this list' }]);
}
