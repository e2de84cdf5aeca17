import { z } from 'zod';
import { eventType } from './event-type.ts';

export const webhookEvents = {
  'webhook.disabled': eventType({
    scope: 'webhooks:read',
    summary: 'A webhook was disabled',
    data: z.looseObject({}),
    persons: {},
  }),
};
