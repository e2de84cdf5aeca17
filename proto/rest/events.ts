import { z } from 'zod';
import { eventSchema } from './events/event.ts';
import { EVENT_TYPE_NAMES } from './events/index.ts';
import { defineRoutes, route } from './route.ts';
import { listOf, MAX_WAIT_SECONDS, numberQuery } from './schemas.ts';

const MAX_EVENTS = 100;
const MAX_PATTERNS = 50;
const PATTERNS = new Set<string>([
  '*',
  ...EVENT_TYPE_NAMES,
  ...EVENT_TYPE_NAMES.map((type) => `${type.split('.')[0]}.*`),
]);
const WRONG_TYPES = 'must be event types or groups such as ban.*, separated by commas';

/** The number of an event in its guild, in a query string. */
const seqQuery = numberQuery(0, Number.MAX_SAFE_INTEGER);

/** The number of an event in its guild, in a response. */
const seqOut = z.int().min(0).meta({ description: 'The event in its guild', example: 4711 });

const NOT_A_PATTERN = 'must be an event type, a group of types such as ban.*, or *';
const isEventPattern = (text: string) => PATTERNS.has(text);

/** Event types, groups of types such as `ban.*`, or `*`. */
export const eventPatterns = listOf(
  z.string({ error: NOT_A_PATTERN }).refine(isEventPattern, { error: NOT_A_PATTERN }),
  MAX_PATTERNS,
  'types',
);

/** The query parameter that selects event types. */
const typesQuery = z
  .string()
  .transform((value) => value.split(',').map((part) => part.trim()))
  .refine((patterns) => patterns.length <= MAX_PATTERNS && patterns.every(isEventPattern), { error: WRONG_TYPES })
  .pipe(z.array(z.string()))
  .meta({
    type: 'string',
    description: 'Event types or groups of types, separated by commas; all types if omitted',
    example: 'ban.*,link.created',
  });

const after = seqQuery.optional().meta({
  type: 'integer',
  minimum: 0,
  description: 'Reading starts after this `seq`; at the oldest retained event if omitted',
  example: 4710,
});

export const eventsRoutes = defineRoutes('events', {
  listEvents: route({
    method: 'GET',
    path: '/events',
    scope: 'events:read',
    category: 'events_read',
    guild: 'header',
    query: z.object({
      after,
      types: typesQuery.optional(),
      limit: numberQuery(1, MAX_EVENTS)
        .default(MAX_EVENTS)
        .meta({
          description: `Maximum number of events; ${MAX_EVENTS} if omitted`,
          example: 100,
        }),
      wait: numberQuery(0, MAX_WAIT_SECONDS).default(0).meta({
        description: 'Maximum number of seconds to wait for the first event; 0 if omitted',
        example: 25,
      }),
    }),
    data: z.object({
      events: z.array(eventSchema).meta({ description: 'Events in the order of `seq`' }),
      next_after: seqOut.meta({
        description: 'Value of `after` for the next request: the last `seq` that was examined',
        example: 42,
      }),
      oldest_seq: seqOut.meta({
        description: 'The oldest `seq` that is retained; the newest `seq` plus 1 if none is',
        example: 17,
      }),
    }),
    status: 200,
    message: 'Events listed',
    summary: 'List events',
    description:
      'In order. Send `next_after` of each response as `after` of the next request. With `wait` the response is delayed until there is an event (long polling). Events whose data the key may not read are left out. A response has at most about 1 MiB.',
    writes: false,
    errors: {
      EVENTS_GONE:
        '`after` is before the oldest retained event, or above the newest one because the log was restored from a backup',
    },
    longPoll: {},
  }),
});

export const eventStreamRoutes = defineRoutes('events', {
  streamEvents: route({
    method: 'GET',
    path: '/events/stream',
    scope: 'events:read',
    category: 'events_read',
    guild: 'header',
    query: z.object({ after, types: typesQuery.optional() }),
    data: z.object({}),
    status: 200,
    message: 'Stream of events',
    summary: 'Stream events',
    description:
      'Server-sent events: `id` is the `seq`, `event` the type, and `data` the event as JSON. The stream continues after the header `Last-Event-ID`, or else after `after`. A comment is sent every 15 s, with an `id` of what was examined if events were left out. The stream counts as one request when it opens. It ends with `retry` when a server restarts, or when the client has not read and more than 1 MiB of events is waiting; connect again then. Connect again after an error such as 503 too. It ends without `retry` when the key is revoked, expires, is replaced, or loses a scope or the address. A guild has at most 20 streams: a new one ends the oldest, with a `retry` of at least a minute.',
    writes: false,
    errors: {
      EVENTS_GONE:
        'The position is before the oldest retained event, or above the newest one because the log was restored from a backup',
    },
    eventStream: { event: eventSchema },
  }),
});
