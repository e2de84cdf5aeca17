import type { GuildCheckName } from '#proto/rest/guild-checks.ts';

/** The result of a check of the set-up of a guild. */
export interface GuildCheck {
  name: GuildCheckName;
  isOk: boolean;
  /** What was found, as a sentence. */
  message: string;
  /** What to do, as a sentence; advice if the check is ok, and empty if there is nothing to do. */
  fix: string;
}

/** A check that is ok, with advice if there is something to improve. */
export const passed = (name: GuildCheckName, message: string, advice = ''): GuildCheck => ({
  name,
  isOk: true,
  message,
  fix: advice,
});

/** A check that failed, with the one thing to do. */
export const failed = (name: GuildCheckName, message: string, fix: string): GuildCheck => ({
  name,
  isOk: false,
  message,
  fix,
});

/** The maximum number of names in a sentence. */
const MAX_LISTED = 5;

/** Returns names as part of a sentence, such as `Captain, Officer and 3 more`. */
export function listed(names: readonly string[]): string {
  const shown = names.slice(0, MAX_LISTED);
  if (names.length > MAX_LISTED) return `${shown.join(', ')} and ${names.length - MAX_LISTED} more`;
  return shown.length < 2 ? shown.join() : `${shown.slice(0, -1).join(', ')} and ${shown.at(-1)}`;
}

/** Returns a number with its noun, such as `1 key` or `3 keys`. */
export const counted = (number: number, noun: string): string => `${number} ${noun}${number === 1 ? '' : 's'}`;
