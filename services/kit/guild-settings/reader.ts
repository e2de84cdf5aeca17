import { LRUCache } from 'lru-cache';
import type { GetGuildSettingsResponse, GuildSettings } from '#proto/gen/guild/members/v1/settings.ts';
import type { Clock } from '../clock.ts';
import { ApiError } from '../errors.ts';
import { maxEntries } from '../resilience/max-entries.ts';
import { SingleFlight } from '../resilience/single-flight.ts';

const TTL_MS = 10_000;
const MAX_GUILDS = 10_000;

export interface GuildSettingsReaderOptions {
  clock: Clock;
  /** Reads the current settings of a guild. */
  load: (guildId: string) => Promise<GetGuildSettingsResponse>;
}

/**
 * Reads the settings of guilds for background work. They are up to ten seconds old, or older while they cannot be read:
 * work goes on with the last known settings of the guild.
 */
export class GuildSettingsReader {
  readonly #options: GuildSettingsReaderOptions;
  readonly #known = new LRUCache<string, { settings: GuildSettings; expiresAt: number }>(maxEntries(MAX_GUILDS));
  readonly #loads = new SingleFlight<GuildSettings>();

  constructor(options: GuildSettingsReaderOptions) {
    this.#options = options;
  }

  /** Returns the settings of a guild. Throws if they cannot be read and are not known either. */
  async of(guildId: string): Promise<GuildSettings> {
    const known = this.#known.get(guildId);
    if (known && known.expiresAt > this.#options.clock.now()) return known.settings;
    try {
      return await this.#loads.run(guildId, () => this.#load(guildId));
    } catch (error) {
      if (known) return known.settings;
      throw error;
    }
  }

  async #load(guildId: string): Promise<GuildSettings> {
    const { load, clock } = this.#options;
    const { settings } = await load(guildId);
    if (!settings) throw new ApiError('INTERNAL', { message: 'The response has no settings' });
    this.#known.set(guildId, { settings, expiresAt: clock.now() + TTL_MS });
    return settings;
  }
}
