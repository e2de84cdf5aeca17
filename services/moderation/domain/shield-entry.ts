/** An entry of the flagged list (the shield): a player whom operators or the guild itself have flagged. */
export interface ShieldEntry {
  /** The ID of the guild in which the player is flagged, or ALL_GUILDS. */
  guildId: string;
  gameId: number;
  gameUsername: string | null;
  reason: string;
  category: string;
  /** The source of the information, such as `operator`, `api` or the name of another list. */
  source: string;
  /** The operator, or the prefix of the API key, that added the entry. */
  actor: string;
  flaggedAt: Date;
  /** The time at which the entry expires; null means that the entry stays in force until it is removed. */
  expiresAt: Date | null;
}

/** The value of `guildId` in flagged-list entries that count in every guild. */
export const ALL_GUILDS = '0';

/**
 * Returns the entry of the flagged list that is in force for a player at the time `now`, in Unix milliseconds. An entry
 * of the guild takes precedence over one for all guilds.
 */
export function effectiveEntry(entries: readonly ShieldEntry[], now: number): ShieldEntry | undefined {
  const unexpired = entries.filter(({ expiresAt }) => expiresAt === null || expiresAt.getTime() > now);
  return unexpired.find(({ guildId }) => guildId !== ALL_GUILDS) ?? unexpired[0];
}
