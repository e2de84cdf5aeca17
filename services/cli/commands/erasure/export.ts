import { ErasureServiceService } from '#proto/gen/guild/common/v1/erasure.ts';
import { ACTOR_OPTION, type Command, type Terminal, type Write } from '../../command.ts';
import type { Connections } from '../../connections.ts';
import { SERVICES } from './erasing.ts';
import { guildsWithProgress } from './guilds-of-user.ts';
import {
  type Account,
  type Accounts,
  accountsDocument,
  accountsOf,
  linkedAccounts,
  readUser,
  USER_OPTIONS,
  USER_USAGE,
} from './user-accounts.ts';

const exportUser: Command = {
  name: 'user export',
  usage: USER_USAGE,
  notes: [
    '--everywhere     export from all guilds in which a service has rows about the user, and rows about all guilds',
    'The document is {chat_id, game_id, guilds: [{guild_id, chat_id, game_id, services: {SERVICE: {TABLE: [row, …]}}}]},',
    'also without --json. It contains the rows that `user erase` would remove, including those of the linked account, and no',
    'data of other people. It is written while it is read: after a failure it is incomplete, and the exit status is 1.',
  ],
  options: { ...USER_OPTIONS, ...ACTOR_OPTION },
  run: async (input, connections, terminal) => {
    const { guildId, account } = readUser(input);
    input.check();
    return { write: (write) => writeExport(write, { connections, terminal, guildId, account }) };
  },
};

export const exportCommands: readonly Command[] = [exportUser];

interface UserExport {
  connections: Connections;
  terminal: Terminal;
  /** The guild whose data about the user is exported; undefined for all guilds. */
  guildId: string | undefined;
  account: Account;
}

async function writeExport(write: Write, { connections, terminal, guildId: only, account }: UserExport): Promise<void> {
  const guilds = only === undefined ? guildsWithProgress(connections, account, terminal) : [only];
  // The opening of the document is written together with the first guild, so that nothing is printed if the first call
  // fails.
  const opening = `${JSON.stringify(accountsDocument(accountsOf(account))).slice(0, -1)},"guilds":[`;
  let separator = opening;
  for await (const guildId of guilds) {
    const accounts = await linkedAccounts(connections, guildId, account);
    const guild = JSON.stringify({ guild_id: guildId, ...accountsDocument(accounts) });
    await write(`${separator}${guild.slice(0, -1)},"services":{`);
    await writeServices(write, connections, guildId, accounts);
    await write('}}');
    separator = ',';
  }
  await write(`${separator === opening ? opening : ''}]}\n`);
}

/**
 * Writes the rows about a user as `"service":{"schema.table":[row,…],…},…`. Omits services that have no rows about the
 * user.
 */
async function writeServices(
  write: Write,
  connections: Connections,
  guildId: string,
  accounts: Accounts,
): Promise<void> {
  let isFirstService = true;
  for (const service of SERVICES) {
    const client = connections.admin(ErasureServiceService, service);
    let current = '';
    let cursor = '';
    do {
      const { rows, nextCursor } = await client.exportUser({ guildId, ...accounts, cursor });
      for (const { table, row } of rows) {
        if (current === '') await write(`${isFirstService ? '' : ','}${JSON.stringify(service)}:{`);
        if (table !== current) await write(`${current === '' ? '' : '],'}${JSON.stringify(table)}:[${row}`);
        else await write(`,${row}`);
        current = table;
        isFirstService = false;
      }
      cursor = nextCursor;
    } while (cursor !== '');
    if (current !== '') await write(']}');
  }
}
