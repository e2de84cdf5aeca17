import { z } from 'zod';
import { guildId, uuidOut } from '../schemas.ts';
import { EVENT_TYPES, type EventType } from './index.ts';

const source = z
  .object({
    kind: z
      .enum(['api_key', 'console', 'operator', 'system'])
      .meta({ id: 'EventSourceKind', description: 'Who caused the event' }),
    id: z
      .string()
      .nullable()
      .meta({
        description:
          'The prefix of the API key, the chat ID of a person in the console, the name of an operator or of a service; ' +
          'null for a person if your key has no `moderation:read`',
        example: 'service_900000000000000001_Ab3dE6',
      }),
  })
  .meta({ id: 'EventSource', description: 'Who caused an event' });

const erased = z.object({ erased: z.literal(true) }).meta({
  id: 'ErasedEventData',
  description: 'Replaces the data of events that named a person whose data was erased',
});

const eventId = uuidOut.meta({
  id: 'EventId',
  description: 'The ID of the event; the header `webhook-id` of its deliveries',
});
const eventSeq = z.int().min(1).meta({
  id: 'EventSeq',
  description: 'Counts from 1 in each guild, in the order in which events can be read',
  example: 42,
});

function eventOf(type: EventType) {
  const { data } = EVENT_TYPES[type];
  return z
    .object({
      id: eventId,
      guild_id: guildId,
      seq: eventSeq,
      type: z.literal(type),
      created_at: z.int().meta({ description: 'When it happened, in Unix seconds', example: 1_780_000_000 }),
      source,
      data: z.union([data, erased]),
      truncated: z
        .literal(true)
        .optional()
        .meta({ description: 'Set if `data` was cut to keep the event below 20 KB' }),
    })
    .meta({
      id: schemaNameOf(type),
      description: eventDescription(type),
    });
}

/** Says when events of a type occur, and who may read them. */
export function eventDescription(type: EventType): string {
  const { summary, scope } = EVENT_TYPES[type];
  return `${summary}. ${accessOf(scope)}`;
}

/** Says which keys may read events with this scope. */
export const accessOf = (scope: string | null): string =>
  scope === null ? 'Any valid key may read it.' : `Scope: \`${scope}\`.`;

/** Returns the name of the schema of an event type: `SyncJobFinishedEvent` for `sync.job.finished`. */
export const schemaNameOf = (type: EventType) =>
  `${type.replaceAll(/(?:^|\.)([a-z])/g, (_, letter: string) => letter.toUpperCase())}Event`;

const [first, ...others] = (Object.keys(EVENT_TYPES) as EventType[]).map(eventOf);

/** The schema of an event of any type, as it is read, streamed and delivered. */
export const eventSchema = z
  .discriminatedUnion('type', [first as NonNullable<typeof first>, ...others])
  .meta({ id: 'Event', description: 'Something that happened to the data of a guild, by `type`' });
