import { unixSeconds } from '#kit/clock.ts';
import type { Delivery, Endpoint } from '../domain/endpoint.ts';

const optionalSeconds = (time: Date | null) => (time === null ? null : unixSeconds(time));

/** Returns a webhook as responses and events show it, without its secret. */
export const webhookView = (endpoint: Endpoint) => ({
  id: endpoint.id,
  guild_id: endpoint.guildId,
  url: endpoint.url,
  types: [...endpoint.types],
  description: endpoint.description,
  format: endpoint.format,
  enabled: endpoint.enabled,
  disabled_reason: endpoint.disabledReason,
  delivered_seq: endpoint.cursorSeq,
  failing_since: optionalSeconds(endpoint.failingSince),
  created_at: unixSeconds(endpoint.createdAt),
});

/** Returns an attempt as the list of deliveries shows it. */
export const deliveryView = (delivery: Delivery) => ({
  event_id: delivery.eventId,
  seq: delivery.seq,
  attempt: delivery.attempt,
  at: unixSeconds(delivery.at),
  status: delivery.status,
  latency_ms: delivery.latencyMs,
  error: delivery.error,
  answer: delivery.answer,
  next_attempt_at: optionalSeconds(delivery.nextAttemptAt),
});
