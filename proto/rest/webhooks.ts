import { z } from 'zod';
import { eventPatterns } from './events.ts';
import { defineRoutes, route } from './route.ts';
import { guildId, listOf, nextCursor, optional, page, text, timestamp, uuid, uuidOut } from './schemas.ts';
import { webhook, webhookFormat } from './webhooks/schemas.ts';

/** Returns what is wrong with a webhook URL, as sentences without a subject. */
export type UrlFaults = (url: string) => readonly string[];

/** The maximum number of webhooks of a guild. */
export const MAX_WEBHOOKS = 25;
/** The maximum number of events that one request sends again. */
export const MAX_REPLAYED = 100;
const DAY = 24 * 3600;
const MAX_GRACE_SECONDS = 7 * DAY;

const types = eventPatterns
  .refine((list) => list.length > 0, { error: 'must hold at least one type' })
  .meta({
    description: 'Event types, groups such as `ban.*`, or `*` for all that the key may read',
    example: ['ban.*', 'link.created'],
  });
/** A URL. What is allowed depends on the configuration of the service: `urlFaults` returns what is wrong. */
const urlOf = (urlFaults: UrlFaults) =>
  text(1, 2_048)
    .superRefine((value, context) => {
      for (const message of urlFaults(value)) context.addIssue({ code: 'custom', message });
    })
    .meta({
      description: 'HTTPS URL on port 443 or above 1023, without user and password',
      example: 'https://example.com/hooks/guild',
    });
const description = text(0, 200).meta({ description: 'Note of its owner', example: 'Ban list mirror' });
const seq = z
  .int({ error: 'must be a seq: a whole number from 1' })
  .min(1, { error: 'must be a seq: a whole number from 1' })
  .meta({ description: '`seq` of an event', example: 42 });
const enabled = z.boolean({ error: 'must be true or false' });
const secret = z.string().meta({
  id: 'WebhookSecret',
  description: 'Signs the deliveries. It is shown only this once',
  example: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYq=',
});

const params = z.object({ id: uuid.meta({ description: 'Webhook ID' }) });
const noSuchWebhook = { NOT_FOUND: 'The guild has no such webhook' };
const gone = { EVENTS_GONE: '`from` is before the retained events, or above the newest `seq` + 1' };

const read = { method: 'GET', scope: 'webhooks:read', category: 'events_read', status: 200, writes: false } as const;
const write = { scope: 'webhooks:write', category: 'webhooks_write', writes: true } as const;

/** Returns the routes of webhooks with the rules for URLs of a service. */
export const webhooksRoutesWith = (urlFaults: UrlFaults) =>
  defineRoutes('events', {
    listWebhooks: route({
      ...read,
      path: '/webhooks',
      guild: 'header',
      data: z.object({ webhooks: z.array(webhook) }),
      message: 'Webhooks listed',
      summary: 'List webhooks',
      description: 'All webhooks of the guild, at most 25, the oldest first.',
    }),
    getWebhook: route({
      ...read,
      path: '/webhooks/:id',
      guild: 'header',
      params,
      data: webhook,
      message: 'Webhook found',
      summary: 'Get a webhook',
      errors: noSuchWebhook,
    }),
    createWebhook: route({
      ...write,
      method: 'POST',
      path: '/webhooks',
      guild: 'body',
      body: z.object({
        guild_id: guildId,
        url: urlOf(urlFaults),
        types,
        description: optional(description),
        format: optional(webhookFormat).meta({
          description: '`standard` (default), or `chat` for an incoming webhook of the chat platform',
        }),
        from: optional(z.union([z.literal('now'), seq], { error: 'must be now or a seq' })).meta({
          description: '`now` (default), or the `seq` of the first event to send',
          example: 'now',
        }),
      }),
      data: webhook.extend({ secret }).meta({ id: 'NewWebhook', description: 'A new webhook with its secret' }),
      status: 201,
      message: 'Webhook created',
      summary: 'Create a webhook',
      description:
        'Deliveries are signed by the Standard Webhooks specification. A webhook has the scopes that the key that created it has now.',
      errors: { QUOTA_EXCEEDED: 'The guild has 25 webhooks', ...gone },
      quota: { quota: 'webhooks', limit: MAX_WEBHOOKS },
    }),
    updateWebhook: route({
      ...write,
      method: 'PATCH',
      path: '/webhooks/:id',
      guild: 'key',
      params,
      body: z
        .object({
          url: optional(urlOf(urlFaults)),
          types: optional(types),
          description: description.nullish().meta({ description: 'New note; null removes it', example: 'Mirror' }),
          enabled: optional(enabled).meta({
            description: 'True enables the webhook, false disables it',
            example: true,
          }),
          from: optional(seq).meta({
            description: 'With `enabled: true`: the `seq` of the first event to send, instead of the next one',
          }),
        })
        .refine((body) => body.from === undefined || body.enabled === true, {
          path: ['from'],
          error: 'requires enabled: true',
          when: () => true,
        })
        .meta({ example: { types: ['*'], enabled: true } }),
      data: webhook,
      status: 200,
      message: 'Webhook updated',
      summary: 'Change, disable or enable a webhook',
      description:
        'Omitted fields stay unchanged. A webhook that is enabled again continues after the last event that was sent. A change of `url` or `types`, and enabling, gives the webhook the scopes of this key: its revocation then disables the webhook.',
      errors: { ...noSuchWebhook, ...gone },
    }),
    deleteWebhook: route({
      ...write,
      method: 'DELETE',
      path: '/webhooks/:id',
      guild: 'key',
      params,
      data: z.object({ removed: z.literal(true), id: uuidOut }),
      status: 200,
      message: 'Webhook deleted',
      summary: 'Delete a webhook',
      errors: noSuchWebhook,
    }),
    rotateWebhookSecret: route({
      ...write,
      method: 'POST',
      path: '/webhooks/:id/rotate',
      guild: 'key',
      params,
      body: z.object({
        grace_seconds: optional(
          z
            .int({ error: 'must be a whole number' })
            .min(0, { error: 'must be at least 0' })
            .max(MAX_GRACE_SECONDS, { error: `must be at most ${MAX_GRACE_SECONDS}` }),
        ).meta({
          description: 'Seconds in which the previous secret signs too; 86400 by default',
          example: DAY,
        }),
      }),
      data: z.object({
        id: uuidOut,
        secret,
        previous_until: timestamp.meta({ description: 'Until when the previous secret signs too' }),
      }),
      status: 200,
      message: 'Secret rotated',
      summary: 'Rotate the secret of a webhook',
      description: 'Until the end of the grace period deliveries have the signatures of both secrets.',
      errors: noSuchWebhook,
    }),
    testWebhook: route({
      ...write,
      method: 'POST',
      path: '/webhooks/:id/test',
      guild: 'key',
      params,
      data: z.object({
        status: z.int().nullable().meta({ description: 'HTTP status; null if there was no response', example: 200 }),
        latency_ms: z.int().min(0).meta({ description: 'Time until the response in milliseconds', example: 38 }),
        answer: z.string().meta({ description: 'First KiB of the response', example: 'ok' }),
        error: z
          .string()
          .nullable()
          .meta({ description: 'Why there was no response; null if there was', example: null }),
      }),
      status: 200,
      message: 'Test event sent',
      summary: 'Send a test event to a webhook',
      description: 'Sends `webhook.test` once, also to a disabled webhook.',
      errors: noSuchWebhook,
    }),
    listWebhookDeliveries: route({
      ...read,
      path: '/webhooks/:id/deliveries',
      guild: 'header',
      params,
      query: z.object(page),
      data: z.object({
        deliveries: z.array(
          z
            .object({
              event_id: uuidOut,
              seq: z.int().min(1).meta({ description: '`seq` of the event', example: 42 }),
              attempt: z.int().min(1).meta({ description: 'Delivery attempt, starting at 1', example: 1 }),
              at: timestamp.meta({ description: 'Unix seconds' }),
              status: z.int().nullable().meta({ description: 'HTTP status; null without a response', example: 200 }),
              latency_ms: z.int().min(0).meta({ description: 'Time until the response or the failure', example: 38 }),
              error: z.string().nullable().meta({ description: 'Why there was no response', example: null }),
              answer: z.string().nullable().meta({
                description: 'First KiB of the response; null if it was erased with a person that the event named',
                example: 'ok',
              }),
              next_attempt_at: timestamp.nullable().meta({
                description: 'When the event is sent again; null after a success or the last attempt',
                example: null,
              }),
            })
            .meta({ id: 'WebhookDelivery', description: 'An attempt to send an event' }),
        ),
        next_cursor: nextCursor,
      }),
      message: 'Deliveries listed',
      summary: 'List the delivery attempts of a webhook',
      description: 'The newest first. Attempts are retained for seven days, the newest 10,000 of a webhook.',
      errors: noSuchWebhook,
    }),
    replayWebhook: route({
      ...write,
      method: 'POST',
      path: '/webhooks/:id/replay',
      guild: 'key',
      params,
      body: z
        .object({
          from: optional(seq).meta({ description: '`seq` of the first event to send again', example: 42 }),
          event_ids: optional(
            listOf(uuid, MAX_REPLAYED, 'IDs').refine((list) => list.length > 0, { error: 'must hold at least one ID' }),
          ).meta({ description: 'IDs of events to send once more' }),
        })
        .refine((body) => (body.from === undefined) !== (body.event_ids === undefined), {
          error: 'must hold exactly one of from, event_ids',
          when: () => true,
          params: { exactlyOneOf: ['from', 'event_ids'] },
        })
        .meta({ example: { from: 42 } }),
      data: webhook,
      status: 200,
      message: 'Events are sent again',
      summary: 'Send events to a webhook again',
      description:
        'With `from` the webhook goes back to that `seq`, and all events from there are sent again. With `event_ids` these events are sent once more.',
      errors: {
        NOT_FOUND: 'The guild has no such webhook, or the log has no such event that the webhook may read',
        CONFLICT: 'It is disabled, or has 1,000 failed events that wait for a retry',
        ...gone,
      },
    }),
  });

/** Routes of webhooks: URLs to which a guild's events are sent. */
export const webhooksRoutes = webhooksRoutesWith(() => []);
