import type { GuildCountName } from '#proto/rest/guild-state.ts';

/** Counting rows stops here, so that a count takes a few milliseconds whatever the size of the guild. */
export const MAX_COUNTED = 10_000;

/** The number of things of one kind that a guild has. */
export interface GuildCount {
  name: GuildCountName;
  value: number;
  /** True if there are more than `value`. */
  isMinimum: boolean;
}

/** A count that is exact. */
export const exactly = (name: GuildCountName, value: number): GuildCount => ({ name, value, isMinimum: false });

/** The count of up to MAX_COUNTED + 1 rows that a statement found. */
export const upToLimit = (name: GuildCountName, found: number): GuildCount => ({
  name,
  value: Math.min(found, MAX_COUNTED),
  isMinimum: found > MAX_COUNTED,
});
