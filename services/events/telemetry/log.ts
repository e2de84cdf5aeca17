import type { Logger } from '#kit/telemetry/log.ts';
import type { Metrics } from '#kit/telemetry/metrics.ts';
import { STREAM_ENDS, type StreamEnd } from '../domain/event-stream.ts';
import type { OwnEvent } from '../domain/log-event.ts';

/** Counts and times the events that are stored, and logs what happens to the log. */
export class EventsTelemetry {
  readonly #events;
  readonly #lag;
  readonly #partitions;
  readonly #bytes;
  readonly #streamEnds;
  readonly #auditEntries;
  readonly #auditAge;
  readonly #log: Logger;

  constructor(metrics: Metrics, log: Logger) {
    this.#events = metrics.counterOf(
      'events_appended_total',
      'Events that services sent: stored (stored), or skipped because they were stored before (duplicate)',
      'outcome',
      ['stored', 'duplicate'],
    );
    this.#lag = metrics.duration(
      'events_lag_seconds',
      'Time from the recording of an event until it is stored in the log',
    );
    this.#partitions = metrics.gauge('events_partitions', 'Partitions of a table, one for each day', ['table']);
    this.#bytes = metrics.gauge('events_partitions_bytes', 'Size of all partitions of a table with their indexes', [
      'table',
    ]);
    this.#streamEnds = metrics.counterOf(
      'events_stream_ends_total',
      'Streams of events that ended: the process drains (drain), the reader was too far behind (behind), the guild opened too many (replaced), the next events are no longer retained (gone), or the reader disconnected (client)',
      'reason',
      STREAM_ENDS,
    );
    this.#auditEntries = metrics.gauge(
      'events_audit_entries',
      'Changes by keys and persons that auth has not yet written into the audit, at most 10,000',
    );
    this.#auditAge = metrics.gauge(
      'events_audit_oldest_seconds',
      'Age of the oldest change that auth has not yet written into the audit; 0 if there is none',
    );
    this.#log = log;
  }

  appended(service: string, stored: readonly OwnEvent[], duplicates: number): void {
    this.#events.inc({ outcome: 'stored' }, stored.length);
    for (const { createdAtMs } of stored) this.#lag.observe(Math.max(0, Date.now() - createdAtMs) / 1000);
    if (duplicates === 0) return;
    this.#events.inc({ outcome: 'duplicate' }, duplicates);
    this.#log.info({ service, duplicates }, 'skipped events that were stored before');
  }

  auditBacklog({ entries, oldestSeconds }: { entries: number; oldestSeconds: number }): void {
    this.#auditEntries.set(entries);
    this.#auditAge.set(oldestSeconds);
  }

  streamEnded(reason: StreamEnd): void {
    this.#streamEnds.inc({ reason });
    if (reason === 'behind') this.#log.info({ reason }, 'ended a stream of events: its reader was too slow');
    if (reason === 'replaced') this.#log.info({ reason }, 'ended a stream of events: the guild opened too many');
  }

  partitionCreated(table: string, count: number): void {
    this.#log.info({ table, count }, 'created partitions');
  }

  partitionDropped(table: string, partition: string): void {
    this.#log.info({ table, partition }, 'dropped a partition with expired rows');
  }

  partitionsRead(table: string, { partitions, bytes }: { partitions: number; bytes: number }): void {
    this.#partitions.set({ table }, partitions);
    this.#bytes.set({ table }, bytes);
  }

  partitionsFailed(table: string, error: unknown): void {
    this.#log.warn({ err: error, table }, 'failed to create or drop partitions, will retry');
  }
}
