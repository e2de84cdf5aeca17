import {
  databaseConfig,
  type Environment,
  grpcConfig,
  httpConfig,
  number,
  processConfig,
  readConfig,
  redisConfig,
} from '#kit/service/config.ts';
import { webhookConfig } from './delivery/config.ts';

const HOUR = 3600;
const DAY = 24 * HOUR;

/** The environment variables of events. */
export const eventsVariables = {
  ...processConfig,
  ...databaseConfig,
  ...grpcConfig,
  ...httpConfig,
  ...redisConfig,
  ...webhookConfig,
  /**
   * The maximum number of requests for events that wait in this process; further ones are answered immediately. One
   * guild may hold a tenth.
   */
  MAX_WAITING_POLLS: number(10_000, 0, 1_000_000),
  /** The maximum number of open streams of events of this process; further ones get 503. */
  MAX_EVENT_STREAMS: number(10_000, 1, 1_000_000),
  /** How long an event is stored. Whole days (UTC) are deleted, so an event may stay for up to a day longer. */
  RETENTION_EVENTS_SECONDS: number(30 * DAY, DAY, 3_650 * DAY),
  /** Seconds for which the response to a write with an Idempotency-Key is stored, for repeats of the request. */
  RETENTION_IDEMPOTENCY_SECONDS: number(DAY, HOUR),
};

/** Reads the configuration of events from environment variables. Throws a ConfigError that lists every fault. */
export const readEventsConfig = (environment: Environment) => readConfig(eventsVariables, environment);

export type EventsConfig = ReturnType<typeof readEventsConfig>;
