import { webhook } from '../webhooks/schemas.ts';
import { eventType } from './event-type.ts';

export const webhookEvents = {
  'webhook.disabled': eventType({
    scope: 'webhooks:read',
    summary: 'A webhook was disabled',
    data: webhook,
    persons: {},
  }),
};
