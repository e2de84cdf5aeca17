import type { ErasureRule } from '#kit/erasure.ts';

/** What is removed with a guild. Keys name no user. */
export const erasureRules: readonly ErasureRule[] = [
  { table: 'auth.key_secrets' },
  { table: 'auth.keys' },
  // That it was erased, and by whom, stays.
  { table: 'auth.audit', guildKeeps: `action IN ('erase_guild', 'erase_user')` },
  // The next number alone: the ID of a key is never given again.
  { table: 'auth.guilds', guildKeeps: 'TRUE' },
];
