import type { Clock } from '#kit/clock.ts';
import { asApiError, isServerError } from '#kit/errors.ts';
import type { QueueDefinition } from '#kit/queue/definition.ts';
import { type Delivery, type Event, OUTBOX } from '../store/outbox.ts';
import type { ModerationTelemetry } from '../telemetry.ts';

export const DECISIONS = 'decisions';

/** The maximum number of guilds whose decisions one process delivers concurrently. */
const MAX_GUILDS = 8;
/** The maximum duration of one delivery in milliseconds; calls to the activity service have a deadline of 3 s. */
const HANDLE_MS = 3_500;
const LEASE_MS = 5_000;

export interface DecisionQueueOptions {
  clock: Clock;
  /**
   * Delivers a moderation decision (such as a ban) to the activity service. Delivering the same decision again has no
   * effect.
   */
  deliver: (delivery: Delivery) => Promise<unknown>;
  telemetry: ModerationTelemetry;
}

/**
 * The queue that delivers the moderation decisions of each guild to the activity service, in the order of the guild's
 * moderation log. A decision that activity rejects, or that fails in every attempt, becomes a dead letter, and the
 * guild's next decisions are delivered, because one broken decision must not stop later bans.
 */
export function decisionQueue({ clock, deliver, telemetry }: DecisionQueueOptions): QueueDefinition<Event> {
  return {
    name: DECISIONS,
    table: OUTBOX,
    ordered: true,
    concurrency: MAX_GUILDS,
    leaseMs: LEASE_MS,
    handleMs: HANDLE_MS,
    async handle({ guildId, attempts: attempt, data }) {
      const delivery = { ...data, guildId, attempt };
      // An operator has retried a dead letter, but game servers already have a later decision about the same player.
      if (data.isSuperseded) return telemetry.superseded(delivery);
      try {
        await deliver(delivery);
      } catch (error) {
        telemetry.notDelivered(isServerError(asApiError(error)));
        throw error;
      }
      telemetry.delivered(delivery, clock.now() - data.createdAt.getTime());
    },
  };
}
