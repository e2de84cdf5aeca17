import { ErasureServiceService } from '#proto/gen/guild/common/v1/erasure.ts';
import type { Command, Screen, Write } from '../command.ts';
import type { Connections } from '../connections.ts';
import { SERVICES } from '../erasing.ts';
import { guildsOfUser } from './guilds-of-user.ts';
import { type Account, accountsIn, given, guildText, readUser, USER_OPTIONS, USER_USAGE } from './user-accounts.ts';

const exportUser: Command = {
  name: 'user export',
  summary: 'everything that is stored of a user of a guild, or of every guild, as a JSON document',
  usage: USER_USAGE,
  notes: [
    '--everywhere     of every guild in which a service has rows about the user, and of what counts in every guild',
    'The document is {chat_id, game_id, guilds: [{guild_id, chat_id, game_id, services: {SERVICE: {TABLE: [row, …]}}}]},',
    'with --json too. It holds what `user erase` would remove, and nothing of other people. The account that the user is',
    'linked to now is in it too. It is written while it is read: a failure leaves it unfinished, with status 1.',
  ],
  options: { ...USER_OPTIONS, actor: { type: 'string' } },
  run: async (input, connections, screen) => {
    const { guildId, account } = readUser(input);
    input.check();
    return { write: (write) => writeExport(write, connections, screen, guildId, account) };
  },
};

export const exportCommands: readonly Command[] = [exportUser];

async function writeExport(
  write: Write,
  connections: Connections,
  screen: Screen,
  only: string | undefined,
  account: Account,
): Promise<void> {
  const { chatId, gameId } = given(account);
  let opening = `{"chat_id":${json(chatId ?? null)},"game_id":${json(gameId ?? null)},"guilds":[`;
  const guilds = only === undefined ? guildsOfUser(connections, given(account)) : [{ guildId: only }];
  let total = 0;
  if (only === undefined) for await (const _ of guildsOfUser(connections, given(account))) total++;
  let count = 0;
  for await (const { guildId } of guilds) {
    count++;
    if (only === undefined) screen.tell(`guild ${count} of ${Math.max(count, total)}: ${guildText(guildId)}`);
    const accounts = await accountsIn(connections, guildId, account);
    const ids = `"chat_id":${json(accounts.chatId ?? null)},"game_id":${json(accounts.gameId ?? null)}`;
    await write(`${opening}{"guild_id":${json(guildId)},${ids},"services":{`);
    await writeServices(write, connections, guildId, accounts);
    await write('}}');
    opening = ',';
  }
  await write(`${count === 0 ? opening : ''}]}\n`);
}

/** `"service":{"schema.table":[row,…],…},…`; services that know nothing of the user are left out. */
async function writeServices(write: Write, connections: Connections, guildId: string, accounts: object): Promise<void> {
  let isFirstService = true;
  for (const service of SERVICES) {
    const client = connections.admin(ErasureServiceService, service);
    let current = '';
    let cursor = '';
    do {
      const { rows, nextCursor } = await client.exportUser({ guildId, ...accounts, cursor });
      for (const { table, row } of rows) {
        if (current === '') await write(`${isFirstService ? '' : ','}${json(service)}:{`);
        if (table !== current) await write(`${current === '' ? '' : '],'}${json(table)}:[${row}`);
        else await write(`,${row}`);
        current = table;
        isFirstService = false;
      }
      cursor = nextCursor;
    } while (cursor !== '');
    if (current !== '') await write(']}');
  }
}

const json = (value: unknown) => JSON.stringify(value);
