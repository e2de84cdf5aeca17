import { z } from 'zod';
import { eventType } from './event-type.ts';

export const keyEvents = {
  'key.created': eventType({
    scope: 'webhooks:read',
    summary: 'An API key was created',
    data: z.looseObject({}),
    persons: {},
  }),
  'key.changed': eventType({
    scope: 'webhooks:read',
    summary: 'An API key was edited or rotated',
    data: z.looseObject({}),
    persons: {},
  }),
  'key.revoked': eventType({
    scope: 'webhooks:read',
    summary: 'An API key was revoked',
    data: z.looseObject({}),
    persons: {},
  }),
  'key.expiring': eventType({
    scope: 'webhooks:read',
    summary: 'An API key expires within seven days',
    data: z.looseObject({}),
    persons: {},
  }),
  'key.leaked': eventType({
    scope: 'webhooks:read',
    summary: 'An API key was reported as leaked',
    data: z.looseObject({}),
    persons: {},
  }),
};
