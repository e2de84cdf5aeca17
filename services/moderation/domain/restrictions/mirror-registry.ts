import type { Queryable } from '#kit/postgres/pool.ts';
import { type GuildUniverses, listMirroringGuilds, storeUniverses } from '../../store/mirrored-universes.ts';
import type { MirrorTelemetry } from '../../telemetry.ts';
import { SettingsPages, type SettingsPagesOptions } from '../settings-pages.ts';

/** The universes that the operator allows, if not all: `GUILD_ID:UNIVERSE_ID`. */
const ALL = '*';

export interface MirrorRegistryOptions
  extends Pick<SettingsPagesOptions<GuildUniverses>, 'database' | 'list' | 'now' | 'everyMs'> {
  /** The universes that may be used: `*`, or entries such as `900000000000000001:30001`. */
  allowed: readonly string[];
  telemetry: MirrorTelemetry;
}

/** Returns what stores to which universes the bans of each guild are mirrored, as the settings of the guilds say. */
export function mirrorRegistry({
  allowed,
  telemetry,
  ...options
}: MirrorRegistryOptions): SettingsPages<GuildUniverses> {
  const isAllowed = (guildId: string, id: number) => allowed.includes(ALL) || allowed.includes(`${guildId}:${id}`);
  const storeGuild = async (transaction: Queryable, guild: GuildUniverses) => {
    const taken = await storeUniverses(transaction, guild);
    if (taken.length > 0) telemetry.conflicted(guild.guildId, taken);
  };
  return new SettingsPages({
    ...options,
    table: 'moderation.mirrored_universes',
    async store(transaction, { after, end, guilds }) {
      const known = await listMirroringGuilds(transaction, after, end);
      const gone = known.filter(({ guildId }) => !guilds.some((guild) => guild.guildId === guildId));
      for (const guild of gone) await storeUniverses(transaction, { ...guild, universeIds: [] });
      for (const guild of guilds) {
        const universeIds = guild.universeIds.filter((id) => isAllowed(guild.guildId, id));
        const current = known.find(({ guildId }) => guildId === guild.guildId);
        if (current && isSame(current, { ...guild, universeIds })) continue;
        await storeGuild(transaction, { ...guild, universeIds });
      }
    },
  });
}

function isSame(one: GuildUniverses, other: GuildUniverses): boolean {
  const sorted = ({ universeIds }: GuildUniverses) => universeIds.toSorted((left, right) => left - right).join();
  return one.excludeAlts === other.excludeAlts && sorted(one) === sorted(other);
}
