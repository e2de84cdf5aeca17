import { z } from 'zod';
import type { GrpcHandlers } from '#kit/grpc/definition.ts';
import { checked } from '#kit/http/validate.ts';
import type { GuildSettingsServiceService } from '#proto/gen/guild/members/v1/settings.ts';
import { guildId } from '#proto/rest/schemas.ts';
import type { Settings } from '../domain/settings.ts';

const getGuildSettings = z.object({ guildId });

/** The gRPC methods of guild.members.v1.GuildSettingsService. */
export function settingsMethods(settings: Pick<Settings, 'of'>): GrpcHandlers<typeof GuildSettingsServiceService> {
  return {
    getGuildSettings: (message) => settings.of(checked(getGuildSettings, message, 'request').guildId),
  };
}
