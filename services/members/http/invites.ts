import type { HttpHandlers } from '#kit/http/app.ts';
import type { invitesRoutes } from '#proto/rest/invites.ts';
import type { RoleInvites } from '../domain/role-invites.ts';

/** The handlers of the REST routes in proto/rest/invites.ts. */
export function invitesHandlers({ invites }: { invites: RoleInvites }): HttpHandlers<typeof invitesRoutes> {
  return {
    createInvite: ({ write, body }) => invites.create(write, { chatId: body.chat_id, gameId: body.game_id }),
  };
}
