import { z } from 'zod';
import type { GrpcHandlers } from '#kit/grpc/definition.ts';
import { checked } from '#kit/http/validate.ts';
import type { EventLogServiceService } from '#proto/gen/guild/events/v1/events.ts';
import { PROCESSES } from '#proto/processes.ts';
import { guildId, uuid } from '#proto/rest/schemas.ts';
import type { EventLog } from '../domain/log.ts';

const MAX_EVENTS = 100;
const MAX_PERSONS = 1_000;
/**
 * An event has at most 20 KB as its readers get it. Services send the data as PostgreSQL writes jsonb, with a space after
 * each comma and colon, which can make it half as long again.
 */
const MAX_BYTES = 30_000;
/** The last millisecond of the year 9999. */
const MAX_TIME_MS = 253_402_300_799_999;

const service = z.string().refine((name) => Object.hasOwn(PROCESSES, name), { error: 'must be a service' });

const MAX_ORIGIN_LENGTH = 200;
const origin = z.string().max(MAX_ORIGIN_LENGTH).optional().catch(undefined);
const record = z.string().refine(isObject, { error: `must be a JSON object of at most ${MAX_BYTES} bytes` });

const event = z.object({
  guildId,
  number: z.int().min(1),
  id: uuid,
  // A newer version of the recording service may know more types than this one.
  type: z
    .string()
    .regex(/^[a-z_]+(?:\.[a-z_]+)+$/, { error: 'must be an event type' })
    .max(100),
  createdAtMs: z.int().min(0).max(MAX_TIME_MS),
  source: z.object({
    kind: z.enum(['api_key', 'console', 'operator', 'system'], { error: 'must be a kind of source' }),
    id: z.string().min(1).max(MAX_ORIGIN_LENGTH),
    // What is for the audit only is not worth rejecting an event.
    requestId: origin,
    address: origin,
    role: origin,
  }),
  persons: z.array(z.string().regex(/^(?:chat|game):[0-9]{1,20}$/, { error: 'must be a person' })).max(MAX_PERSONS),
  data: record,
  before: record.optional(),
});

const request = z.object({
  service,
  events: z
    .array(event)
    .min(1)
    .max(MAX_EVENTS)
    .refine(isAscending, { error: 'must have ascending numbers in each guild' }),
});

function isAscending(events: readonly { guildId: string; number: number }[]): boolean {
  const last = new Map<string, number>();
  return events.every(({ guildId: guild, number }) => {
    const isAbove = number > (last.get(guild) ?? 0);
    last.set(guild, number);
    return isAbove;
  });
}

function isObject(text: string): boolean {
  if (Buffer.byteLength(text) > MAX_BYTES) return false;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}

/** The methods for services that record events. */
export function eventLogMethods(log: EventLog): GrpcHandlers<typeof EventLogServiceService> {
  return {
    async appendEvents(message) {
      const { service: recorder, events } = checked(request, message);
      return { stored: await log.append(recorder, events) };
    },
  };
}
