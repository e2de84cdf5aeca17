import { z } from 'zod';
import { guildId, timestamp, uuidOut } from '../schemas.ts';

/** The formats in which a webhook may receive events. */
export const WEBHOOK_FORMATS = ['standard', 'chat'] as const;

/** Why a webhook is disabled. */
export const DISABLED_REASONS = ['requested', 'operator', 'gone', 'failing', 'key_revoked'] as const;
export type DisabledReason = (typeof DISABLED_REASONS)[number];

export const webhookFormat = z
  .enum(WEBHOOK_FORMATS, { error: `must be one of ${WEBHOOK_FORMATS.join(', ')}` })
  .meta({ id: 'WebhookFormat', description: 'The format in which a webhook receives events' });

const disabledReason = z
  .enum(DISABLED_REASONS)
  .meta({ id: 'WebhookDisabledReason', description: 'Why a webhook is disabled' });

/** A webhook as the API returns it, without its secret. */
export const webhook = z
  .object({
    id: uuidOut,
    guild_id: guildId,
    url: z.string().meta({ description: 'Where events are sent', example: 'https://example.com/hooks/guild' }),
    types: z.array(z.string()).meta({
      description: 'Event types, groups such as `ban.*`, or `*` for all that the key may read',
      example: ['ban.*', 'link.created'],
    }),
    description: z.string().nullable().meta({ description: 'Note of its owner', example: 'Ban list mirror' }),
    format: webhookFormat.meta({
      description: '`chat`: a readable message for an incoming webhook of the chat platform',
      example: 'standard',
    }),
    enabled: z.boolean().meta({ description: 'False: no events are sent', example: true }),
    disabled_reason: disabledReason.nullable().meta({
      description:
        '`gone`: the receiver responded with 410; `failing`: no delivery succeeded for five days; `key_revoked`: its key was revoked',
      example: null,
    }),
    delivered_seq: z.int().min(0).meta({
      description: '`seq` up to which events were sent, or left out because of their type, or failed and are retried',
      example: 41,
    }),
    failing_since: timestamp.nullable().meta({
      description: 'The first failure since the last success; null if there is none',
      example: null,
    }),
    created_at: timestamp,
  })
  .meta({ id: 'Webhook', description: 'A URL to which events are sent' });
