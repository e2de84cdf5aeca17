import { binding } from '../bindings.ts';
import { eventType } from './event-type.ts';

export const bindingEvents = {
  'binding.created': eventType({
    scope: null,
    summary: 'A role binding was added',
    data: binding,
    persons: {},
  }),
  'binding.updated': eventType({
    scope: null,
    summary: 'A role binding was changed',
    data: binding,
    persons: {},
  }),
  'binding.removed': eventType({
    scope: null,
    summary: 'A role binding was removed',
    data: binding,
    persons: {},
  }),
};
