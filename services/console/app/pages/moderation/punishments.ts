import {
  banPlayer,
  listActiveBans,
  listActiveMutes,
  mutePlayer,
  unbanPlayer,
  unmutePlayer,
} from '#clients/typescript/src/operations.ts';
import type { BanPlayerArgs, Punishment, UnbanPlayerArgs } from '#clients/typescript/src/operations-types.ts';
import type { Rest } from '../../api/rest.ts';
import type { Page } from '../../api/use-pages.ts';

export type PunishmentKind = 'ban' | 'mute';

/** Where a ban or mute applies, as the fields of a request. */
export type ScopeFields = { scope: 'global' } | { scope: 'place'; place_id: number };

/** Where an existing ban or mute applies. */
export function scopeOf({ scope, place_id }: Pick<Punishment, 'scope' | 'place_id'>): ScopeFields {
  return scope === 'place' && place_id !== null ? { scope, place_id } : { scope: 'global' };
}

/** Bans or mutes a player. */
export const punish = (rest: Rest, kind: PunishmentKind, args: BanPlayerArgs) =>
  kind === 'ban' ? banPlayer(rest, args) : mutePlayer(rest, args);

/** Lifts a ban or mute. */
export const lift = (rest: Rest, kind: PunishmentKind, args: UnbanPlayerArgs) =>
  kind === 'ban' ? unbanPlayer(rest, args) : unmutePlayer(rest, args);

/** One page of the active bans or mutes. */
export async function listActive(
  rest: Rest,
  kind: PunishmentKind,
  args: { game_id?: string; place_id?: string; cursor?: string; limit?: number },
  signal: AbortSignal,
): Promise<Page<Punishment>> {
  if (kind === 'ban') {
    const { bans, next_cursor } = await listActiveBans(rest, args, { signal });
    return { rows: bans, next: next_cursor };
  }
  const { mutes, next_cursor } = await listActiveMutes(rest, args, { signal });
  return { rows: mutes, next: next_cursor };
}

/** The request that makes a lifted ban or mute again, with the time that it had left; undefined if it would have ended. */
export function restored(row: Punishment, now = Date.now() / 1_000): BanPlayerArgs | undefined {
  const left = row.expires_at === null ? null : Math.round(row.expires_at - now);
  if (left !== null && left < 1) return undefined;
  return {
    game_id: row.game_id,
    game_username: row.game_username,
    reason: row.reason,
    moderator_chat_id: row.moderator_chat_id,
    moderator_game_id: row.moderator_game_id,
    duration: left ?? 'permanent',
    ...scopeOf(row),
  };
}
