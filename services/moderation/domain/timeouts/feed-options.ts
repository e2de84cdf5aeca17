import type { Database } from '#kit/postgres/pool.ts';

/** Members whose timeouts have changed, as the members service reports them. */
export interface TimeoutChanges {
  changes: readonly { id: number; guildId: string; chatId: string }[];
  newestId: number;
}

export interface TimeoutFeedOptions {
  database: Database;
  newHolder: () => string;
  /** Returns changes after a position, oldest first: those of a guild, or of all. */
  list: (after: number, limit: number, guildId?: string) => Promise<TimeoutChanges>;
  /** Returns the players who are linked with these chat accounts. */
  gameIdsOf: (guildId: string, chatIds: readonly string[]) => Promise<number[]>;
  wake: () => void;
}
