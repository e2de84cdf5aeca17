import type { DisabledReason } from '#proto/rest/webhooks/schemas.ts';

/** The number of parked events at which an endpoint waits: no further events are sent until some are delivered. */
export const MAX_PARKED = 1_000;

/** A URL to which the events of a guild are sent: a webhook, without its secrets. */
export interface Endpoint {
  guildId: string;
  /** A UUID. */
  id: string;
  /** The ID of the key with whose present scopes the endpoint reads; its revocation disables the endpoint. */
  keyId: string;
  /** null: all scopes. */
  scopes: readonly string[] | null;
  url: string;
  /** Event types, groups such as `ban.*`, or `*`. */
  types: readonly string[];
  format: 'standard' | 'chat';
  description: string | null;
  enabled: boolean;
  disabledReason: DisabledReason | null;
  /** Events up to this seq were sent, parked or left out. */
  cursorSeq: number;
  /** The first failure since the last success; null if there is none. */
  failingSince: Date | null;
  /** The number of failed events that wait for a retry. */
  parked: number;
  createdAt: Date;
}

/** The encrypted secrets of an endpoint. */
export interface EndpointSecrets {
  secret: Buffer;
  /** The secret before a rotation; null after the end of its grace period. */
  previousSecret: Buffer | null;
}

/** An attempt to send an event to an endpoint. */
export interface Attempt {
  eventId: string;
  seq: number;
  /** Starts at 1. */
  attempt: number;
  /** null without a response. */
  status: number | null;
  latencyMs: number;
  error: string | null;
  answer: string;
}

/** A stored attempt, with its time and the time of the next one. */
export interface Delivery extends Omit<Attempt, 'answer'> {
  id: string;
  at: Date;
  /** The time of the attempt in Unix microseconds, for cursors. */
  atMicros: number;
  /** null if it was erased. */
  answer: string | null;
  nextAttemptAt: Date | null;
}
