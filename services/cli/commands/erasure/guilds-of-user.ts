import { ErasureServiceService } from '#proto/gen/guild/common/v1/erasure.ts';
import type { Connections } from '../connections.ts';
import { SERVICES } from '../erasing.ts';
import type { Accounts } from './user-accounts.ts';

/** A guild in which a user occurs, and the services whose rows name the user there. */
export interface Occurrence {
  guildId: string;
  services: string[];
}

/**
 * The guilds in which any service has rows about a user, in ascending order. Each service lists its own, page by page, and
 * the lists are merged as they are read: memory does not grow with the number of guilds.
 */
export async function* guildsOfUser(connections: Connections, accounts: Accounts): AsyncGenerator<Occurrence, void> {
  const lists = SERVICES.map((service) => ({ service, guilds: guildsIn(connections, service, accounts) }));
  const heads = await Promise.all(lists.map(({ guilds }) => guilds.next()));
  for (;;) {
    const pending = heads.flatMap(({ done, value }) => (done || value === undefined ? [] : [value]));
    const [guildId] = pending.toSorted();
    if (guildId === undefined) return;
    const services: string[] = [];
    for (const [index, { service, guilds }] of lists.entries()) {
      const head = heads[index];
      if (head?.done || head?.value !== guildId) continue;
      services.push(service);
      heads[index] = await guilds.next();
    }
    yield { guildId, services };
  }
}

async function* guildsIn(connections: Connections, service: string, accounts: Accounts): AsyncGenerator<string, void> {
  const client = connections.admin(ErasureServiceService, service);
  let afterGuildId: string | undefined;
  do {
    const { guildIds, searchedTo } = await client.listGuildsOfUser({ ...accounts, afterGuildId });
    yield* guildIds;
    if (searchedTo !== undefined && searchedTo === afterGuildId)
      throw new Error(`${service} lists the same guilds twice`);
    afterGuildId = searchedTo;
  } while (afterGuildId !== undefined);
}
