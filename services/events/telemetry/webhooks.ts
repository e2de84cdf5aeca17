import type { Logger } from '#kit/telemetry/log.ts';
import type { Metrics } from '#kit/telemetry/metrics.ts';
import type { Attempt, Endpoint } from '../domain/endpoint.ts';
import type { EndpointCounts } from '../store/stats.ts';

type Recipient = Pick<Endpoint, 'guildId' | 'id' | 'url'>;

const CHANGES = ['created', 'updated', 'deleted', 'rotated', 'enabled', 'disabled', 'replayed'];

/** The metrics and log lines of webhooks. Of a URL only the host is logged, because its path may be a secret. */
export class WebhookTelemetry {
  readonly #metrics: Metrics;
  readonly #log: Logger;
  readonly #deliveries;
  readonly #attemptSeconds;
  readonly #delay;
  readonly #disabled;
  readonly #changes;
  #counts: EndpointCounts = { enabled: 0, due: 0, failing: 0, full: 0, disabled: 0, parked: 0 };

  constructor(metrics: Metrics, log: Logger) {
    this.#metrics = metrics;
    this.#log = log;
    this.#deliveries = metrics.counterOf(
      'webhook_deliveries_total',
      'Attempts to send an event to a webhook, by outcome: delivered, failed and retried later (failed), failed at the last attempt (dead), answered with 410 (gone), or not sent for a reason of this installation (not_sent)',
      'outcome',
      ['delivered', 'failed', 'dead', 'gone', 'not_sent'],
    );
    this.#attemptSeconds = metrics.duration(
      'webhook_attempt_duration_seconds',
      'Time from the start of an attempt to send an event to the response or the failure',
    );
    this.#delay = metrics.duration(
      'webhook_delivery_delay_seconds',
      'Time from the change that an event reports until the event was delivered at its first attempt',
    );
    this.#disabled = metrics.counterOf('webhook_disabled_total', 'Webhooks that were disabled, by reason', 'reason', [
      'requested',
      'operator',
      'gone',
      'failing',
      'key_revoked',
    ]);
    this.#changes = metrics.counterOf(
      'webhook_changes_total',
      'Changes of webhooks by requests and operators',
      'change',
      CHANGES,
    );
    metrics.gauge(
      'webhook_endpoints',
      'Webhooks of the installation by state, counted once a minute',
      ['state'],
      (gauge) => {
        const { parked: _, ...states } = this.#counts;
        for (const [state, count] of Object.entries(states)) gauge.set({ state }, count);
      },
    );
    metrics.gauge(
      'webhook_parked_events',
      'Events of the installation that failed and wait for a retry, counted once a minute',
      [],
      (gauge) => gauge.set(this.#counts.parked),
    );
  }

  /** Counts an attempt; `delayMs` is the time since the change that the event reports. */
  attempted(
    recipient: Recipient,
    { eventId, attempt, status, latencyMs, error }: Attempt,
    { isSuccess, isGone, isLast, delayMs }: { isSuccess: boolean; isGone: boolean; isLast: boolean; delayMs: number },
  ): void {
    const failure = isGone ? 'gone' : isLast ? 'dead' : 'failed';
    this.#deliveries.inc({ outcome: isSuccess ? 'delivered' : failure });
    this.#attemptSeconds.observe(latencyMs / 1000);
    if (isSuccess && attempt === 1) this.#delay.observe(Math.max(0, delayMs) / 1000);
    const fields = { ...fieldsOf(recipient), event_id: eventId, attempt, status, error, latency_ms: latencyMs };
    if (isSuccess) this.#log.debug(fields, 'webhook delivered');
    else if (isLast) this.#log.warn(fields, 'webhook not delivered at the last attempt');
    else this.#log.info(fields, `webhook not delivered, ${isGone ? 'its receiver wants no events' : 'will retry'}`);
  }

  /** Counts an attempt that this installation could not make. */
  notSent(recipient: Recipient, error: string | null): void {
    this.#deliveries.inc({ outcome: 'not_sent' });
    this.#log.warn({ ...fieldsOf(recipient), error }, 'webhook not sent, will retry');
  }

  disabled(endpoint: Endpoint): void {
    this.#disabled.inc({ reason: endpoint.disabledReason ?? 'requested' });
    this.#log.info({ ...fieldsOf(endpoint), reason: endpoint.disabledReason }, 'webhook disabled');
  }

  /** Counts and logs a change; `actor` is the ID of the key or the name of the operator. */
  changed(change: string, endpoint: Recipient, actor: string): void {
    this.#changes.inc({ change });
    this.#log.info({ ...fieldsOf(endpoint), change, actor }, 'webhook changed');
  }

  counted(counts: EndpointCounts): void {
    this.#counts = counts;
  }

  /** Logs work of the deliveries in the background that failed and is tried again. */
  failed(error: unknown, work: string): void {
    this.#log.warn({ err: error, work }, 'failed to continue webhook deliveries, will retry');
  }

  /** Sets the gauge of webhooks to which events are being sent, by lane (fast, slow or retries). */
  lanes(lanes: Readonly<Record<string, { used: number }>>): void {
    this.#metrics.gauge(
      'webhook_deliveries_in_flight',
      'Webhooks to which this process sends events now, by lane: fast, slow, or retries',
      ['lane'],
      (gauge) => {
        for (const [lane, { used }] of Object.entries(lanes)) gauge.set({ lane }, used);
      },
    );
  }
}

const fieldsOf = ({ guildId, id, url }: Recipient) => ({
  guild_id: guildId,
  webhook_id: id,
  host: URL.parse(url)?.host ?? null,
});
