import { z } from 'zod';
import { defineRoutes, route } from './route.ts';
import { guildId } from './schemas.ts';

/** Routes that the gateway serves itself. */
export const gatewayRoutes = defineRoutes('gateway', {
  whoami: route({
    method: 'GET',
    path: '/whoami',
    scope: null,
    category: null,
    guild: 'key',
    data: z.object({
      guild_id: guildId,
      prefix: z.string().meta({
        description: 'The first characters of the key, which are not secret',
        example: 'service_900000000000000001_q8ZtL2',
      }),
      scopes: z
        .array(z.string())
        .nullable()
        .meta({
          description: 'Scopes of the key; null for a legacy key, which may use every route',
          example: ['lookup:read', 'verify:write'],
        }),
      legacy: z.boolean().meta({ description: 'True if the key was created before scopes existed', example: false }),
    }),
    status: 200,
    message: 'API key is valid',
    summary: 'Get the guild and scopes of the API key',
    writes: false,
  }),
});
