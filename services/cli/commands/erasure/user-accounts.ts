import { LinkAdminServiceService } from '#proto/gen/guild/lookup/v1/admin.ts';
import type { Input } from '../../command.ts';
import type { Connections } from '../../connections.ts';

/** The command-line options that name a user by a chat or game account, for `Command.options`. */
export const USER_OPTIONS = {
  guild: { type: 'string' },
  everywhere: { type: 'boolean' },
  'game-id': { type: 'string' },
  'chat-id': { type: 'string' },
} as const;
export const USER_USAGE = '(--guild ID | --everywhere) (--game-id ID | --chat-id ID)';

/** The chat or game account by which the command line names a user. */
export type Account = { $case: 'chatId'; value: string } | { $case: 'gameId'; value: number };

/** The chat account and the game account of a user. */
export interface Accounts {
  chatId?: string | undefined;
  gameId?: number | undefined;
}

/**
 * Reads the command-line options that name a user; `guildId` is undefined with `--everywhere`. Call this function
 * before `input.check()`, which throws the mistakes that it finds.
 */
export function readUser(input: Input): { guildId: string | undefined; account: Account } {
  input.oneOf('guild', 'everywhere');
  const kind = input.oneOf('game-id', 'chat-id');
  const gameId = input.numericId('game-id') ?? 0;
  const chatId = input.text('chat-id') ?? '';
  const account: Account = kind === 'chat-id' ? { $case: 'chatId', value: chatId } : { $case: 'gameId', value: gameId };
  return { guildId: input.flag('everywhere') ? undefined : input.text('guild'), account };
}

/** True for the guild IDs `0` and the empty text, which the services use in rows that concern all guilds. */
export const meansEveryGuild = (guildId: string) => guildId === '' || guildId === '0';

/**
 * Returns the chat and the game account of a user: the one that the command line names, and the one that is linked to
 * it in the guild.
 */
export async function linkedAccounts(connections: Connections, guildId: string, account: Account): Promise<Accounts> {
  if (meansEveryGuild(guildId)) return accountsOf(account);
  return connections.admin(LinkAdminServiceService, 'lookup').findAccounts({ guildId, account });
}

/** Returns only the account that the command line names, without looking up the account that is linked to it. */
export const accountsOf = (account: Account): Accounts =>
  account.$case === 'chatId' ? { chatId: account.value } : { gameId: account.value };

/** Returns the accounts of a user as fields of a JSON document. */
export const accountsDocument = ({ chatId, gameId }: Accounts) => ({
  chat_id: chatId ?? null,
  game_id: gameId ?? null,
});
