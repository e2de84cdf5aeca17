import { z } from 'zod';
import { eventType } from './event-type.ts';

export const bindingEvents = {
  'binding.created': eventType({
    scope: null,
    summary: 'A role binding was added',
    data: z.looseObject({}),
    persons: {},
  }),
  'binding.updated': eventType({
    scope: null,
    summary: 'A role binding was changed',
    data: z.looseObject({}),
    persons: {},
  }),
  'binding.removed': eventType({
    scope: null,
    summary: 'A role binding was removed',
    data: z.looseObject({}),
    persons: {},
  }),
};
