import { z } from 'zod';
import type { GrpcHandlers } from '#kit/grpc/definition.ts';
import { checked } from '#kit/http/validate.ts';
import type { GuildSettingsServiceService } from '#proto/gen/guild/members/v1/settings.ts';
import { guildId } from '#proto/rest/schemas.ts';
import type { Settings } from '../domain/settings.ts';

const getGuildSettings = z.object({ guildId });
const page = z.object({
  afterGuildId: z.union([z.literal(''), guildId]),
  limit: z.int().min(1).max(1_000),
});

/** The gRPC methods of guild.members.v1.GuildSettingsService. */
export function settingsMethods(
  settings: Pick<Settings, 'of' | 'mirroringGuilds' | 'timeoutGuilds'>,
): GrpcHandlers<typeof GuildSettingsServiceService> {
  return {
    async getGuildSettings(message) {
      return { settings: await settings.of(checked(getGuildSettings, message, 'request').guildId) };
    },
    async listMirroringGuilds(message) {
      const { afterGuildId, limit } = checked(page, message, 'request');
      return { guilds: await settings.mirroringGuilds(afterGuildId, limit) };
    },
    async listTimeoutGuilds(message) {
      const { afterGuildId, limit } = checked(page, message, 'request');
      return { guildIds: await settings.timeoutGuilds(afterGuildId, limit) };
    },
  };
}
