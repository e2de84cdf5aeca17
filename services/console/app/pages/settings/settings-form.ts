import type { GuildSettings, UpdateSettingsArgs } from '#clients/typescript/src/operations-types.ts';

/** The fields of the form, as a person edits them. */
export interface SettingsForm {
  syncOnLink: boolean;
  syncOnJoin: boolean;
  syncOnRankChange: boolean;
  template: string;
  /** The IDs of universes with commas between them. */
  universes: string;
  excludeAlts: boolean;
  mirrorTimeouts: boolean;
  pushCommands: boolean;
  inviteChannel: string;
  oauthJoin: boolean;
}

const MAX_UNIVERSES = 10;

export const formOf = (settings: GuildSettings): SettingsForm => ({
  syncOnLink: settings.sync_on_link,
  syncOnJoin: settings.sync_on_join,
  syncOnRankChange: settings.sync_on_rank_change,
  template: settings.nickname_template ?? '',
  universes: settings.mirror_bans.universe_ids.join(', '),
  excludeAlts: settings.mirror_bans.exclude_alts,
  mirrorTimeouts: settings.mirror_timeouts,
  pushCommands: settings.push_commands,
  inviteChannel: settings.invite_channel_id ?? '',
  oauthJoin: settings.oauth_join,
});

/**
 * Returns the settings that differ from the stored ones, so that a save does not undo what others have changed meanwhile;
 * undefined if there are none.
 */
export function changesOf(form: SettingsForm, stored: GuildSettings): UpdateSettingsArgs | 'invalid' | undefined {
  const ids = form.universes.split(/[\s,]+/).filter((id) => id !== '');
  if (ids.length > MAX_UNIVERSES || ids.some((id) => !/^[1-9][0-9]{0,15}$/.test(id))) return 'invalid';
  const before = formOf(stored);
  const wanted = {
    sync_on_link: form.syncOnLink,
    sync_on_join: form.syncOnJoin,
    sync_on_rank_change: form.syncOnRankChange,
    mirror_timeouts: form.mirrorTimeouts,
    push_commands: form.pushCommands,
    oauth_join: form.oauthJoin,
  };
  const flags = Object.entries(wanted).filter(([name, value]) => stored[name as keyof typeof wanted] !== value);
  const bans = {
    ...(ids.join() !== stored.mirror_bans.universe_ids.join() && { universe_ids: ids.map(Number) }),
    ...(form.excludeAlts !== before.excludeAlts && { exclude_alts: form.excludeAlts }),
  };
  const changes = {
    ...(Object.fromEntries(flags) as Partial<typeof wanted>),
    ...(form.inviteChannel.trim() !== before.inviteChannel && {
      invite_channel_id: form.inviteChannel.trim() || null,
    }),
    ...(form.template.trim() !== before.template && { nickname_template: form.template.trim() || null }),
    ...(Object.keys(bans).length > 0 && { mirror_bans: bans }),
  };
  return Object.keys(changes).length > 0 ? changes : undefined;
}
