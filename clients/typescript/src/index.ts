export { Client, type ClientOptions } from './client.ts';
export { type DurationText, isDuration } from './duration.ts';
export {
  ApiError,
  ClientTimeoutError,
  type ErrorResponse,
  GuildDataError,
  InvalidResponseError,
  NetworkError,
} from './errors.ts';
export type { StreamEnd, StreamOptions } from './event-stream.ts';
export { type EventPattern, type EventsArgs, type EventsOptions, type EventType, events } from './events.ts';
export { GuildData } from './guild-data.ts';
export type { CallOptions, Operation, ResponseInfo, SharedOptions } from './operation.ts';
export * from './operations.ts';
export * from './operations-errors.ts';
export type * from './operations-types.ts';
export type { Runtime } from './runtime.ts';
export {
  type VerifyOptions,
  verifyWebhook,
  type WebhookFault,
  type WebhookHeaders,
  type WebhookRequest,
  WebhookVerificationError,
} from './webhooks.ts';
