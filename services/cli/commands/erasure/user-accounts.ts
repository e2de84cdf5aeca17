import { LinkAdminServiceService } from '#proto/gen/guild/lookup/v1/admin.ts';
import type { Input } from '../../command.ts';
import type { Connections } from '../../connections.ts';

/** The options that select a user, for `Command.options`. */
export const USER_OPTIONS = {
  guild: { type: 'string' },
  everywhere: { type: 'boolean' },
  'game-id': { type: 'string' },
  'chat-id': { type: 'string' },
} as const;
export const USER_USAGE = '(--guild ID | --everywhere) (--game-id ID | --chat-id ID)';

/** The account that selects a user. */
export type Account = { $case: 'chatId'; value: string } | { $case: 'gameId'; value: number };

/** The accounts of a user. */
export interface Accounts {
  chatId?: string | undefined;
  gameId?: number | undefined;
}

/** Reads the options that select a user; `guildId` is undefined with `--everywhere`. Call it before `input.check()`. */
export function readUser(input: Input): { guildId: string | undefined; account: Account } {
  input.oneOf('guild', 'everywhere');
  const kind = input.oneOf('game-id', 'chat-id');
  const gameId = input.numericId('game-id') ?? 0;
  const chatId = input.text('chat-id') ?? '';
  const account: Account = kind === 'chat-id' ? { $case: 'chatId', value: chatId } : { $case: 'gameId', value: gameId };
  return { guildId: input.flag('everywhere') ? undefined : input.text('guild'), account };
}

/** True for the IDs that services use for rows about all guilds. */
export const meansEveryGuild = (guildId: string) => guildId === '' || guildId === '0';

/** The selected account, and the account that it is linked to in the guild. */
export async function linkedAccounts(connections: Connections, guildId: string, account: Account): Promise<Accounts> {
  if (meansEveryGuild(guildId)) return accountsOf(account);
  return connections.admin(LinkAdminServiceService, 'lookup').findAccounts({ guildId, account });
}

/** The selected account alone. */
export const accountsOf = (account: Account): Accounts =>
  account.$case === 'chatId' ? { chatId: account.value } : { gameId: account.value };

/** The accounts as fields of a JSON document. */
export const accountsDocument = ({ chatId, gameId }: Accounts) => ({
  chat_id: chatId ?? null,
  game_id: gameId ?? null,
});
