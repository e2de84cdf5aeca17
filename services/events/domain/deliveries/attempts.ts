import type { Clock } from '#kit/clock.ts';
import type { DeliveryResult } from '../../delivery/sender.ts';
import type { Outcome, Recipient } from '../../store/turns.ts';
import type { WebhookTelemetry } from '../../telemetry/webhooks.ts';
import type { LogEvent } from '../log-event.ts';
import { retrySeconds } from './schedule.ts';

/** The maximum time for a response in milliseconds. */
const TIMEOUT_MS = 15_000;
/** Milliseconds: an endpoint whose attempt takes longer is moved to the lane of slow endpoints. */
const SLOW_MS = 1_000;

const GONE = 410;

/** Sends an event to an endpoint once; never rejects because of the receiver. */
export type SendEvent = (recipient: Recipient, event: LogEvent, timeoutMs: number) => Promise<DeliveryResult>;

export interface AttemptsOptions {
  send: SendEvent;
  clock: Clock;
  telemetry: WebhookTelemetry;
}

export interface AttemptRequest {
  recipient: Recipient;
  event: LogEvent;
  /** The number of failed attempts before this one. */
  attempts: number;
  /** Called when the attempt is known to be slow, while it continues. */
  becameSlow: () => void;
}

/** An outcome that is to be stored; `isGone` if the receiver wants no more events. */
export type Attempted = Outcome & { isGone: boolean };

/** Makes attempts to send events, and counts them. */
export class Attempts {
  readonly #options: AttemptsOptions;

  constructor(options: AttemptsOptions) {
    this.#options = options;
  }

  /** Sends an event once. Returns undefined if it was not sent for a reason of this installation. */
  async make({ recipient, event, attempts, becameSlow }: AttemptRequest): Promise<Attempted | undefined> {
    const { send, clock, telemetry } = this.#options;
    const timer = setTimeout(becameSlow, SLOW_MS);
    const result = await send(recipient, event, TIMEOUT_MS).finally(() => clearTimeout(timer));
    if (result.isOurFault) {
      telemetry.notSent(recipient, result.error);
      return undefined;
    }
    const { status, latencyMs, error, answer } = result;
    const isSuccess = error === null && status !== null && status >= 200 && status < 300;
    const attempt = { eventId: event.id, seq: event.seq, attempt: attempts + 1, status, latencyMs, error, answer };
    const isGone = status === GONE;
    const seconds = isSuccess || isGone ? null : retrySeconds(attempts + 1);
    telemetry.attempted(recipient, attempt, {
      isSuccess,
      isGone,
      isLast: seconds === null && !isGone,
      delayMs: clock.now() - event.createdAt.getTime(),
    });
    return { attempt, isSuccess, isSlow: !isSuccess || latencyMs > SLOW_MS, isGone, retrySeconds: seconds };
  }
}
