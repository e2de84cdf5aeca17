import { z } from 'zod';
import { defineRoutes, route } from './route.ts';
import { guildId } from './schemas.ts';

/** What the gateway answers itself. */
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
        description: 'How the key begins: what may be shown of it',
        example: 'service_900000000000000001_q8ZtL2',
      }),
      scopes: z
        .array(z.string())
        .nullable()
        .meta({
          description: 'null for a legacy key, which reaches everything',
          example: ['lookup:read', 'verify:write'],
        }),
      legacy: z.boolean().meta({ description: 'Whether the key is older than scopes', example: false }),
    }),
    status: 200,
    message: 'API key is valid',
    summary: 'What the calling key is and may do',
    writes: false,
  }),
});
