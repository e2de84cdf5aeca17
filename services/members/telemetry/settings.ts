import type { Logger } from '#kit/telemetry/log.ts';
import type { GuildSettings } from '#proto/gen/guild/members/v1/settings.ts';

/** The log lines about the settings of guilds. */
export class SettingsTelemetry {
  readonly #log: Logger;

  constructor(log: Logger) {
    this.#log = log;
  }

  changed(guildId: string, { version }: GuildSettings): void {
    this.#log.info({ guild_id: guildId, version }, 'guild settings changed');
  }
}
