import type { Logger } from '#kit/telemetry/log.ts';
import type { Metrics } from '#kit/telemetry/metrics.ts';

/** How a request to `/interactions` ended. */
export const INTERACTION_RESULTS = [
  'accepted',
  'ping',
  'missing_signature',
  'old_timestamp',
  'bad_signature',
  'incomplete',
  'too_many_failures',
  'malformed',
  'repeated',
  'limited',
  'unknown_guild',
  'outside_of_guild',
  'unavailable',
] as const;

export type InteractionResult = (typeof INTERACTION_RESULTS)[number];

/** The metrics and log lines of signed requests of the chat platform. */
export class InteractionTelemetry {
  readonly #log: Logger;
  readonly #results;

  constructor(metrics: Metrics, log: Logger) {
    this.#log = log;
    this.#results = metrics.counterOf(
      'gateway_interactions_total',
      'Requests of the chat platform about slash commands, by result',
      'result',
      INTERACTION_RESULTS,
    );
  }

  ended(result: InteractionResult): void {
    this.#results.inc({ result });
  }

  unavailable(error: unknown): void {
    this.#results.inc({ result: 'unavailable' });
    this.#log.error({ err: error }, 'slash command not accepted, because the auth service could not store it');
  }
}
