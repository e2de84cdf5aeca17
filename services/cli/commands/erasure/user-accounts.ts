import { LinkAdminServiceService } from '#proto/gen/guild/lookup/v1/admin.ts';
import type { Input } from '../command.ts';
import type { Connections } from '../connections.ts';

const GAME_ID = { min: 1, max: Number.MAX_SAFE_INTEGER };

/** The options that name a user, for `Command.options`. */
export const USER_OPTIONS = {
  guild: { type: 'string' },
  everywhere: { type: 'boolean' },
  'game-id': { type: 'string' },
  'chat-id': { type: 'string' },
} as const;
export const USER_USAGE = '(--guild ID | --everywhere) (--game-id ID | --chat-id ID)';

/** The account that was given. */
export type Account = { $case: 'chatId'; value: string } | { $case: 'gameId'; value: number };

export interface Accounts {
  chatId?: string | undefined;
  gameId?: number | undefined;
}

/** What was given on the command line; faults are for `input.check()`. */
export function readUser(input: Input): { guildId: string | undefined; account: Account } {
  input.oneOf('guild', 'everywhere');
  const kind = input.oneOf('game-id', 'chat-id');
  const gameId = input.wholeNumber('game-id', GAME_ID) ?? 0;
  const chatId = input.text('chat-id') ?? '';
  const account: Account = kind === 'chat-id' ? { $case: 'chatId', value: chatId } : { $case: 'gameId', value: gameId };
  return { guildId: input.flag('everywhere') ? undefined : input.text('guild'), account };
}

/** Rows with such an ID count in every guild, and belong to none. */
const isNoGuild = (guildId: string) => guildId === '' || guildId === '0';

/** The account that was given and, in a guild, the one that it is linked to there now. */
export async function accountsIn(connections: Connections, guildId: string, account: Account): Promise<Accounts> {
  if (isNoGuild(guildId)) return given(account);
  return connections.admin(LinkAdminServiceService, 'lookup').findAccounts({ guildId, account });
}

export const given = (account: Account): Accounts =>
  account.$case === 'chatId' ? { chatId: account.value } : { gameId: account.value };

/** A guild as people read it. */
export const guildText = (guildId: string) => (isNoGuild(guildId) ? 'what counts in every guild' : `guild ${guildId}`);
