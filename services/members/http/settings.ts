import type { HttpHandlers } from '#kit/http/app.ts';
import { ok } from '#kit/http/envelope.ts';
import type { settingsRoutes } from '#proto/rest/settings.ts';
import type { Settings } from '../domain/settings.ts';
import { settingsView } from './views.ts';

type SettingsResponse = ReturnType<typeof settingsView>;

/** The handlers of the REST routes in proto/rest/settings.ts. */
export function settingsHandlers({
  settings,
}: {
  settings: Settings<SettingsResponse>;
}): HttpHandlers<typeof settingsRoutes> {
  return {
    getSettings: async ({ guildId }) => ok(settingsView(await settings.of(guildId))),
    updateSettings: ({ write, body }) =>
      settings.change(write, {
        syncOnLink: body.sync_on_link,
        syncOnJoin: body.sync_on_join,
        syncOnRankChange: body.sync_on_rank_change,
        nicknameTemplate: body.nickname_template,
        mirrorBansUniverseIds: body.mirror_bans?.universe_ids,
        mirrorBansExcludeAlts: body.mirror_bans?.exclude_alts,
        mirrorTimeouts: body.mirror_timeouts,
        pushCommands: body.push_commands,
        inviteChannelId: body.invite_channel_id,
        oauthJoin: body.oauth_join,
      }),
  };
}
