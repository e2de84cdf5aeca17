import type { Logger } from '#kit/telemetry/log.ts';
import type { Metrics } from '#kit/telemetry/metrics.ts';
import type { Provider } from './domain/console/identity.ts';

/** Metrics and log lines about the persons who use the console. None contains a token, or the ID of a person. */
export class ConsoleTelemetry {
  readonly #log: Logger;
  readonly #signIns;
  readonly #callbacks;
  readonly #requests;
  readonly #readings;

  constructor(metrics: Metrics, log: Logger) {
    this.#log = log;
    this.#signIns = metrics.counterOf(
      'auth_console_sign_ins_total',
      'Sessions of the console that were created, by the way in which the person signed in',
      'provider',
      ['chat', 'oidc', 'link'],
    );
    this.#callbacks = metrics.counterOf(
      'auth_console_callbacks_total',
      'Browsers that returned from a provider: signed in, cancelled by the person, rejected (unknown, used, expired or of another browser), or failed at the provider',
      'result',
      ['succeeded', 'cancelled', 'rejected', 'failed'],
    );
    this.#requests = metrics.counterOf(
      'auth_console_requests_total',
      'REST requests of persons in the console that were signed, or rejected because of the session or the role',
      'result',
      ['signed', 'not_signed_in', 'role_too_low'],
    );
    this.#readings = metrics.counterOf(
      'auth_console_rights_read_total',
      'Readings of the rights of a signed-in person from the provider: successful, failed, or the grant was withdrawn',
      'result',
      ['read', 'failed', 'withdrawn'],
    );
  }

  signedIn(provider: Provider): void {
    this.#signIns.inc({ provider });
    this.#log.info({ provider }, 'person signed in to the console');
  }

  /** The gRPC server logs the errors of the provider; no line has a code, a state or a token. */
  callbackHandled(provider: Provider, result: 'succeeded' | 'cancelled' | 'rejected' | 'failed'): void {
    this.#callbacks.inc({ result });
    this.#log.info({ provider, result }, 'browser returned from the sign-in at a provider');
  }

  linkCreated(guildId: string, role: string): void {
    this.#log.info({ guild_id: guildId, role }, 'one-time link to the console created');
  }

  accessChanged(guildId: string, action: string): void {
    this.#log.info({ guild_id: guildId, action }, 'role of a person in a guild changed');
  }

  requestSigned(): void {
    this.#requests.inc({ result: 'signed' });
  }

  requestRejected(result: 'not_signed_in' | 'role_too_low'): void {
    this.#requests.inc({ result });
  }

  rightsRead(): void {
    this.#readings.inc({ result: 'read' });
  }

  rightsUnreadable(sessionId: string, provider: Provider, error: unknown): void {
    this.#readings.inc({ result: 'failed' });
    this.#log.warn(
      { session: sessionId, provider, err: error },
      'failed to read the rights of a signed-in person, the last ones are used for 30 minutes',
    );
  }

  grantWithdrawn(sessionId: string, provider: Provider): void {
    this.#readings.inc({ result: 'withdrawn' });
    this.#log.info({ session: sessionId, provider }, 'session ended: the grant was withdrawn at the provider');
  }

  sessionsEnded(count: number): void {
    this.#log.info({ sessions: count }, 'sessions of the console ended');
  }
}
