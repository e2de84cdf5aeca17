import type { z } from 'zod';
import { activityEvents } from './activity.ts';
import { bindingEvents } from './bindings.ts';
import { keyEvents } from './keys.ts';
import { linkEvents } from './links.ts';
import { memberEvents } from './members.ts';
import { moderationEvents } from './moderation.ts';
import { personEvents } from './persons.ts';
import { webhookEvents } from './webhooks.ts';

/** The table of event types: every type of event that the API reports. */
export const EVENT_TYPES = {
  ...linkEvents,
  ...moderationEvents,
  ...bindingEvents,
  ...memberEvents,
  ...activityEvents,
  ...keyEvents,
  ...webhookEvents,
  ...personEvents,
};

export type EventType = keyof typeof EVENT_TYPES;

/** The data of an event type, as the service that records it passes it. */
export type EventData<Type extends EventType> = z.input<(typeof EVENT_TYPES)[Type]['data']>;

/** An event to be recorded: its type with the matching data. */
export type NewEvent<Type extends EventType = EventType> = {
  [Each in Type]: { type: Each; data: EventData<Each> };
}[Type];

export const EVENT_TYPE_NAMES = Object.keys(EVENT_TYPES) as EventType[];
