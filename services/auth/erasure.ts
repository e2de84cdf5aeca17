import type { ErasureRule, UserColumn } from '#kit/personal-data/erasure-rules.ts';

const shown = `jsonb_build_object('at', at, 'service', service, 'action', action, 'details', details)`;
const inAudit = (column: string, account: UserColumn['account']): UserColumn => ({
  column,
  account,
  empty: { details: 'NULL' },
  shows: shown,
});

/** What is removed with a guild, and with a user. Keys name no user. */
export const erasureRules: readonly ErasureRule[] = [
  { table: 'auth.key_secrets' },
  { table: 'auth.keys' },
  {
    table: 'auth.audit',
    // Who did which kind of thing and when stays in the chain, and what is said of erasures; all other details go.
    guildKeeps: `salt IS NULL OR action IN ('erase_guild', 'erase_user', 'EraseGuild', 'EraseUser')`,
    users: [inAudit('game_id', 'game'), inAudit('chat_id', 'chat')],
    functions: { guild: 'auth.erase_audit_of_guild', user: 'auth.erase_audit_of_user' },
  },
  // Where the chain ends, and what was signed of it, names nobody.
  { table: 'auth.audit_heads', guildKeeps: 'TRUE' },
  { table: 'auth.audit_checkpoints', guildKeeps: 'TRUE' },
  { table: 'auth.operators', isInstallations: true },
  // The next number alone: the ID of a key is never given again.
  { table: 'auth.guilds', guildKeeps: 'TRUE' },
];
