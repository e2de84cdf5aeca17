import type { ChatRole } from '#platforms/chat.ts';
import type { Link, Unlinked } from '#proto/gen/guild/lookup/v1/lookup.ts';
import type { GuildSettings } from '#proto/gen/guild/members/v1/settings.ts';
import type { ChangeViews } from '../domain/changes.ts';
import type { LinkedMember } from '../domain/members.ts';
import type { Person } from '../domain/people-search.ts';
import type { ExplainedRole } from '../domain/role-explanations.ts';

/** Converts a link to its form in REST responses. */
export function linkView({ chatId, gameId, gameUsername }: Link) {
  return { chat_id: chatId, game_id: gameId, game_username: gameUsername, verified: true };
}

function unlinkView({ chatId, gameId }: Link) {
  return { unlinked: true as const, chat_id: chatId, game_id: gameId };
}

/** Converts a removed link to its form in REST responses. */
export function unlinkedView({ chatId, gameId, unlinkedAt }: Unlinked) {
  return { chat_id: chatId, game_id: gameId, unlinked_at: unlinkedAt };
}

/** By kind of link change, the conversion of the link to the data of the successful REST response. */
export const changeViews = { redeem: linkView, link: linkView, unlink: unlinkView } satisfies ChangeViews;

/** Converts a member and the member's link to their form in REST responses. */
export function memberView({ member, link }: LinkedMember) {
  return {
    chat_id: member.chatId,
    username: member.username,
    nickname: member.nickname,
    roles: member.roles,
    joined_at: member.joinedAt,
    verified: link !== undefined,
    game_id: link?.gameId ?? null,
    game_username: link?.gameUsername ?? null,
  };
}

/** Converts a chat role to its form in REST responses. */
export function roleView({ id, name, position, color, managed, assignable }: ChatRole) {
  return { id, name, position, color, managed, assignable };
}

/** Converts a found person to its form in REST responses. */
export function personView({ chatId, chatUsername, nickname, gameId, gameUsername }: Person) {
  return {
    chat_id: chatId,
    chat_username: chatUsername,
    nickname,
    game_id: gameId,
    game_username: gameUsername,
  };
}

/** Converts an explained role to its form in REST responses. */
export function explainedRoleView({ roleId, roleName, hasRole, action, blocked, bindings }: ExplainedRole) {
  return {
    role_id: roleId,
    role_name: roleName,
    has_role: hasRole,
    action,
    blocked,
    bindings: bindings.map(({ bindingId, ...binding }) => ({ binding_id: bindingId, ...binding })),
  };
}

/** Converts the settings of a guild to their form in REST responses. */
export function settingsView(settings: GuildSettings) {
  return {
    sync_on_link: settings.syncOnLink,
    sync_on_join: settings.syncOnJoin,
    sync_on_rank_change: settings.syncOnRankChange,
    nickname_template: settings.nicknameTemplate ?? null,
    mirror_bans: {
      universe_ids: settings.mirrorBansUniverseIds,
      exclude_alts: settings.mirrorBansExcludeAlts,
    },
    mirror_timeouts: settings.mirrorTimeouts,
    push_commands: settings.pushCommands,
    invite_channel_id: settings.inviteChannelId ?? null,
    oauth_join: settings.oauthJoin,
  };
}
