/** An entry of the flagged list (the shield): a player that operators flag. */
export interface ShieldEntry {
  /** The guild in which the entry counts, or ALL_GUILDS. */
  guildId: string;
  gameId: number;
  gameUsername: string | null;
  reason: string;
  category: string;
  /** Where the information comes from, such as `operator` or the name of another list. */
  source: string;
  /** The operator who added the entry. */
  actor: string;
  flaggedAt: Date;
  /** null: until it is removed. */
  expiresAt: Date | null;
}

/** The guild ID of entries that count in every guild. */
export const ALL_GUILDS = '0';

/** The entry that counts at a time, in Unix milliseconds. An entry of the guild precedes one for all guilds. */
export function effectiveEntry(entries: readonly ShieldEntry[], now: number): ShieldEntry | undefined {
  const unexpired = entries.filter(({ expiresAt }) => expiresAt === null || expiresAt.getTime() > now);
  return unexpired.find(({ guildId }) => guildId !== ALL_GUILDS) ?? unexpired[0];
}
