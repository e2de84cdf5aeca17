import type { Logger } from '#kit/telemetry/log.ts';
import type { Metrics } from '#kit/telemetry/metrics.ts';

/** Metrics and log lines of the events about what the chat platform reports of members. */
export class MemberReportTelemetry {
  readonly #log: Logger;
  readonly #reports;

  constructor(metrics: Metrics, log: Logger) {
    this.#log = log;
    this.#reports = metrics.counterOf(
      'members_reported_changes_total',
      'Joins, leaves and role changes of members that the chat platform reported, by result: recorded as an event, or dropped because the guild had too many within an hour',
      'result',
      ['recorded', 'dropped'],
    );
  }

  reported(result: 'recorded' | 'dropped', count: number): void {
    this.#reports.inc({ result }, count);
  }

  tooMany(guildId: string, limit: number): void {
    this.#log.warn(
      { guild_id: guildId, limit },
      'guild had too many changes of members, further ones in this hour get no events',
    );
  }
}
