import type { HttpHandlers } from '#kit/http/app.ts';
import { ok } from '#kit/http/envelope.ts';
import type { syncRoutes } from '#proto/rest/sync.ts';
import type { BindingPreviews } from '../domain/binding-previews.ts';
import type { Nicknames } from '../domain/nicknames.ts';
import type { RoleSync } from '../domain/role-sync.ts';
import type { SyncJobs } from '../domain/sync-jobs.ts';

export interface SyncHandlersOptions {
  roles: RoleSync;
  nicknames: Nicknames;
  jobs: SyncJobs;
  previews: BindingPreviews;
}

/** The handlers of the REST routes in proto/rest/sync.ts. */
export function syncHandlers({
  roles,
  nicknames,
  jobs,
  previews,
}: SyncHandlersOptions): HttpHandlers<typeof syncRoutes> {
  return {
    syncRoles: ({ write, body }) =>
      roles.sync(write, { chatId: body.chat_id, gameId: body.game_id }, body.dry_run ?? false),
    syncGroup: ({ write, body }) => jobs.start(write, body.game_group_id),
    async getSyncJob({ guildId, params }) {
      const name = { guildId, id: params.jobId };
      return ok((await previews.get(name)) ?? (await jobs.get(name)));
    },
    syncNickname: ({ write, body }) => {
      const { chat_id: chatId, nickname, template, game_group_id: gameGroupId } = body;
      return nicknames.sync(write, { chatId, nickname, template, gameGroupId });
    },
  };
}
