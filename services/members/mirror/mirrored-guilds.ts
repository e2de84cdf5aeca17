import { LRUCache } from 'lru-cache';
import type { Queryable } from '#kit/postgres/pool.ts';
import { maxEntries } from '#kit/resilience/max-entries.ts';
import { SingleFlight } from '#kit/resilience/single-flight.ts';
import type { ChatRole, ChatStanding } from '#platforms/chat.ts';
import { rolesSchema, toChatRoles } from '#platforms/discord/roles.ts';
import { toChatStanding } from '#platforms/discord/standing.ts';
import { findGuildData, type MirroredGuild } from '../store/mirror-reads.ts';

const MAX_GUILDS = 5_000;

/** The roles of a mirrored guild, and the bot's rights there. */
interface GuildFacts {
  /** Together with the version: the version of a guild that the bot left and joined again begins anew. */
  epoch: string;
  version: number;
  roles: ChatRole[];
  roleIds: ReadonlySet<string>;
  standing: ChatStanding;
}

/** Reads the roles of mirrored guilds, and keeps them in memory until the guild changes. */
export class MirroredGuilds {
  readonly #database: Queryable;
  readonly #facts = new LRUCache<string, GuildFacts>(maxEntries(MAX_GUILDS));
  readonly #reads = new SingleFlight<GuildFacts | undefined>();

  constructor(database: Queryable) {
    this.#database = database;
  }

  /** Returns what the mirror has of a guild; undefined if the guild was deleted meanwhile. */
  async facts(guildId: string, { epoch, version, botId }: MirroredGuild): Promise<GuildFacts | undefined> {
    const known = this.#facts.get(guildId);
    if (known?.epoch === epoch && known.version === version) return known;
    return this.#reads.run(`${guildId} ${epoch} ${version}`, () => this.#read(guildId, botId));
  }

  async #read(guildId: string, botId: string): Promise<GuildFacts | undefined> {
    const data = await findGuildData(this.#database, guildId);
    if (!data) return undefined;
    const { ownerId, botRoles } = data;
    const roles = rolesSchema.parse(data.roles);
    const facts = {
      epoch: data.epoch,
      version: data.version,
      roles: toChatRoles(guildId, roles, botRoles),
      roleIds: new Set(roles.map(({ id }) => id)),
      standing: toChatStanding(guildId, { owner_id: ownerId, roles }, { id: botId, roles: botRoles }),
    };
    this.#facts.set(guildId, facts);
    return facts;
  }
}
