import { z } from 'zod';
import { guildId, timestamp } from '../schemas.ts';
import { eventType } from './event-type.ts';

const optionalTime = (description: string) => timestamp.nullable().meta({ description, example: null });

/** An API key, as `guildctl keys` prints it: without its secret and without a hash. */
export const apiKey = z
  .object({
    id: z.string().meta({ description: 'ID of the key', example: '900000000000000001-1' }),
    prefix: z.string().meta({
      description: 'The first characters of the key, which are not secret',
      example: 'service_900000000000000001_q8ZtL2',
    }),
    guild_id: guildId,
    name: z.string().meta({ description: 'Name of the key', example: 'Game servers' }),
    scopes: z
      .array(z.string())
      .nullable()
      .meta({
        description: 'Scopes of the key; null for a legacy key, which may use every route',
        example: ['lookup:read', 'verify:write'],
      }),
    legacy: z.boolean().meta({ description: 'True if the key was created before scopes existed', example: false }),
    ip_allowlist: z
      .array(z.string())
      .meta({ description: 'Addresses and CIDR blocks that may use the key; empty for all', example: ['203.0.113.9'] }),
    rate_limit: z
      .int()
      .nullable()
      .meta({ description: 'Requests per minute; null if the key has no limit of its own', example: 600 }),
    created_at: timestamp,
    expires_at: optionalTime('When it stops to work; null if it does not expire'),
    revoked_at: optionalTime('When it was revoked; null if it is not'),
    rotated_until: optionalTime('Until when the replaced secret works; null if there is none'),
    last_used_at: optionalTime('The last use, to within two minutes; null if there is none'),
  })
  .meta({ id: 'ApiKey', description: 'An API key without its secret' });

export const keyEvents = {
  'key.created': eventType({
    scope: 'webhooks:read',
    summary: 'An API key was created',
    data: apiKey,
    persons: {},
  }),
  'key.changed': eventType({
    scope: 'webhooks:read',
    summary: 'An API key was edited or rotated',
    data: apiKey,
    persons: {},
  }),
  'key.revoked': eventType({
    scope: 'webhooks:read',
    summary: 'An API key was revoked',
    data: apiKey,
    persons: {},
  }),
  'key.expiring': eventType({
    scope: 'webhooks:read',
    summary: 'An API key expires within seven days',
    data: apiKey,
    persons: {},
  }),
  'key.leaked': eventType({
    scope: 'webhooks:read',
    summary: 'An API key was found in public; it is revoked by the next event',
    data: apiKey,
    persons: {},
  }),
};
