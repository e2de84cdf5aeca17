import type { Clock } from '#kit/clock.ts';
import { asApiError, isServerError } from '#kit/errors.ts';
import type { QueueDefinition } from '#kit/queue/definition.ts';
import { type Delivery, type Event, OUTBOX } from '../store/outbox.ts';
import type { ModerationTelemetry } from '../telemetry.ts';

/** The name of the queue of decisions. */
export const DECISIONS = 'decisions';

/** Guilds for which one process delivers at once. */
const MAX_GUILDS = 8;
/** A delivery takes 3 s at most. */
const HANDLE_MS = 3_500;
const LEASE_MS = 5_000;

export interface RelayOptions {
  clock: Clock;
  /** Hands a decision over; the same one again changes nothing. */
  deliver: (delivery: Delivery) => Promise<unknown>;
  events: ModerationTelemetry;
}

/**
 * Delivers the decisions of each guild to activity in the order of its log. One that activity refuses, or always fails
 * for, becomes a dead letter, and the guild's next decisions are delivered: a ban must reach its servers.
 */
export function decisionQueue({ clock, deliver, events }: RelayOptions): QueueDefinition<Event> {
  return {
    name: DECISIONS,
    table: OUTBOX,
    ordered: true,
    concurrency: MAX_GUILDS,
    leaseMs: LEASE_MS,
    handleMs: HANDLE_MS,
    async handle({ guildId, attempts: attempt, data }) {
      const delivery = { ...data, guildId, attempt };
      // A dead letter that an operator has retried: game servers know better by now.
      if (data.isSuperseded) return events.superseded(delivery);
      try {
        await deliver(delivery);
      } catch (error) {
        events.notDelivered(isServerError(asApiError(error)));
        throw error;
      }
      events.delivered(delivery, clock.now() - data.createdAt.getTime());
    },
  };
}
