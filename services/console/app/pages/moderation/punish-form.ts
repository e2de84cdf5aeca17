import type { BanPlayerArgs, FoundPerson } from '#clients/typescript/src/operations-types.ts';
import { durationText } from '../../components/time.tsx';
import { punishTexts as texts } from '../../texts.ts';
import { isGameId } from '../people/accounts.ts';

/** What a person has entered about a ban or mute. */
export interface PunishForm {
  person: FoundPerson | undefined;
  /** Seconds; null without an end. */
  duration: number | null;
  reason: string;
  isEverywhere: boolean;
  placeId: string;
  /** True to replace the one that is active. */
  isReplacing: boolean;
}

export const DEFAULT_DURATION_SECONDS = 7 * 86_400;

export type PunishFaults = Partial<Record<'person' | 'reason' | 'place', string>>;

/** What must be corrected before the form can be sent. */
export function faultsOfPunish({ person, reason, isEverywhere, placeId }: PunishForm): PunishFaults {
  const length = reason.trim().length;
  return {
    ...(person?.game_id == null && { person: texts.playerMissing }),
    ...((length === 0 || length > 400) && { reason: texts.reasonMissing }),
    ...(!isEverywhere && !isGameId(placeId) && { place: texts.placeMissing }),
  };
}

/** The request of a form without faults. */
export function requestOfPunish(form: PunishForm, gameId: number): BanPlayerArgs {
  return {
    game_id: gameId,
    game_username: form.person?.game_username ?? null,
    reason: form.reason.trim(),
    duration: form.duration ?? 'permanent',
    ...(form.isReplacing && { replace: true }),
    ...(form.isEverywhere ? { scope: 'global' } : { scope: 'place', place_id: Number(form.placeId) }),
  };
}

/** How long a ban or mute lasts, as part of a sentence: `for 1 week`, `permanently`. */
export const lengthText = (duration: number | null): string =>
  duration === null ? texts.permanently : texts.forTime(durationText(duration));
