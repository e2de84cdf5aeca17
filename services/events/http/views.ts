import type { z } from 'zod';
import { unixSeconds } from '#kit/clock.ts';
import type { eventSchema } from '#proto/rest/events/event.ts';
import { grantsScope } from '#proto/rest/scopes.ts';
import type { LogEvent } from '../domain/log-event.ts';

/** True if a key with these scopes may read which person caused an event. */
export const mayReadPersons = (scopes: readonly string[] | null) => grantsScope(scopes, 'moderation:read');

/**
 * Returns an event as all its readers get it. The ID of a person in the console is null for readers that may not read
 * persons.
 */
export function eventView(event: LogEvent, showsPersons: boolean): z.input<typeof eventSchema> {
  const { kind, id } = event.source;
  const { truncated, ...data } = event.data as Record<string, unknown>;
  const view = {
    id: event.id,
    guild_id: event.guildId,
    seq: event.seq,
    type: event.type,
    created_at: unixSeconds(event.createdAt),
    source: { kind, id: kind === 'console' && !showsPersons ? null : id },
    data,
    ...(truncated === true && { truncated }),
  };
  // The log holds what the services recorded by the same table of event types.
  return view as z.input<typeof eventSchema>;
}
