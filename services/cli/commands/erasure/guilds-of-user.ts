import { ErasureServiceService } from '#proto/gen/guild/common/v1/erasure.ts';
import type { Terminal } from '../../command.ts';
import type { Connections } from '../../connections.ts';
import { SERVICES } from './erasing.ts';
import { type Account, type Accounts, accountsOf, meansEveryGuild } from './user-accounts.ts';

/**
 * Yields every guild in which a service has rows about an account. Before each guild reports the progress on the
 * terminal.
 */
export async function* guildsWithProgress(
  connections: Connections,
  account: Account,
  terminal: Terminal,
): AsyncGenerator<string, void> {
  const accounts = accountsOf(account);
  let total = 0;
  for await (const _ of guildsOfUser(connections, accounts)) total++;
  let count = 0;
  // The guilds are listed a second time instead of stored after the count, so that memory does not grow with their
  // number.
  for await (const guildId of guildsOfUser(connections, accounts)) {
    count++;
    const guild = meansEveryGuild(guildId) ? 'rows about all guilds' : `guild ${guildId}`;
    terminal.report(`guild ${count} of ${Math.max(count, total)}: ${guild}`);
    yield guildId;
  }
}

/**
 * Yields the guilds in which any service has rows about a user, in ascending order. The services list their guilds page by
 * page, and the lists are merged while they are read.
 */
async function* guildsOfUser(connections: Connections, accounts: Accounts): AsyncGenerator<string, void> {
  const lists = SERVICES.map((service) => guildsInService(connections, service, accounts));
  const heads = await Promise.all(lists.map((list) => list.next()));
  for (;;) {
    const pending = heads.flatMap(({ done, value }) => (done || value === undefined ? [] : [value]));
    const [guildId] = pending.toSorted();
    if (guildId === undefined) return;
    for (const [index, list] of lists.entries()) {
      const head = heads[index];
      if (!head?.done && head?.value === guildId) heads[index] = await list.next();
    }
    yield guildId;
  }
}

async function* guildsInService(
  connections: Connections,
  service: string,
  accounts: Accounts,
): AsyncGenerator<string, void> {
  const client = connections.admin(ErasureServiceService, service);
  let afterGuildId: string | undefined;
  do {
    const { guildIds, searchedTo } = await client.listGuildsOfUser({ ...accounts, afterGuildId });
    yield* guildIds;
    if (searchedTo !== undefined && searchedTo === afterGuildId) {
      throw new Error(`${service} returned the same page of guilds twice`);
    }
    afterGuildId = searchedTo;
  } while (afterGuildId !== undefined);
}
