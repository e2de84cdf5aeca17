import type { HttpHandlers } from '#kit/http/app.ts';
import { decodeCursor, encodeCursor } from '#kit/http/cursor.ts';
import { ok } from '#kit/http/envelope.ts';
import type { guildsRoutes } from '#proto/rest/guilds.ts';
import type { Members } from '../domain/members.ts';
import { memberView, roleView } from './views.ts';

/** The handlers of the REST routes in proto/rest/guilds.ts. */
export function guildsHandlers({ members }: { members: Members }): HttpHandlers<typeof guildsRoutes> {
  return {
    async listMembers({ guildId, query }) {
      const { limit, cursor, role_id: roleId, verified } = query;
      const scope = { route: 'listMembers', guildId, filters: { roleId, verified } };
      const position = cursor === undefined ? '' : decodeCursor(scope, cursor);
      const { members: found, next } = await members.list(guildId, { limit, position, roleId, verified });
      const nextCursor = next === undefined ? null : encodeCursor(scope, next);
      return ok({ members: found.map(memberView), next_cursor: nextCursor });
    },
    getMember: async ({ guildId, params }) => ok(memberView(await members.get(guildId, params.chatId))),
    listRoles: async ({ guildId }) => ok({ roles: (await members.roles(guildId)).map(roleView) }),
  };
}
