import { performance } from 'node:perf_hooks';
import type { ZodError } from 'zod';
import { asApiError } from '#kit/errors.ts';
import type { Logger } from '#kit/telemetry/log.ts';
import type { Metrics } from '#kit/telemetry/metrics.ts';

/** From where a read of a member, of roles or of the bot's rights was answered. */
const SOURCES = ['mirror', 'platform', 'old'] as const;

export type ReadSource = (typeof SOURCES)[number];

/** How long no further line is logged about a mirror that cannot be read, in milliseconds: every read may fail. */
const QUIET_MS = 60_000;

/** Metrics and log lines of the mirror and of the websocket that feeds it. */
export class MirrorTelemetry {
  readonly #log: Logger;
  readonly #reads;
  readonly #events;
  readonly #sessions;
  readonly #disconnects;
  #shards = { owned: 0, live: 0, lagSeconds: 0 };
  /** The time of performance.now() until which nothing is logged about reads. */
  #quietUntil = 0;

  constructor(metrics: Metrics, log: Logger) {
    this.#log = log;
    this.#reads = metrics.counterOf(
      'members_mirror_reads_total',
      'Reads of members and guilds of the chat platform, by source: the mirror, a call to the platform, or an old row of the mirror because the platform could not be called in time',
      'source',
      SOURCES,
    );
    this.#events = metrics.counterOf(
      'members_chat_gateway_events_total',
      "Events of the chat platform's websocket, by outcome: stored in the mirror, or skipped because they cannot be read",
      'outcome',
      ['stored', 'skipped'],
    );
    this.#sessions = metrics.counterOf(
      'members_chat_gateway_sessions_total',
      "Sessions of the chat platform's websocket that were begun, after which the mirror is read again, or resumed",
      'start',
      ['begun', 'resumed'],
    );
    this.#disconnects = metrics.counterOf(
      'members_chat_gateway_disconnects_total',
      "Lost connections to the chat platform's websocket, by whether the platform rejected the connection permanently",
      'kind',
      ['lost', 'rejected'],
    );
    const gauges = {
      members_chat_gateway_shards: [
        "Shards of the chat platform's websocket that this process owns",
        () => this.#shards.owned,
      ],
      members_chat_gateway_shards_live: [
        "Shards of the chat platform's websocket of this process that are connected and whose events are stored in the mirror",
        () => this.#shards.live,
      ],
      members_chat_gateway_lag_seconds: [
        "Time since the oldest event of the chat platform's websocket was received that is not stored in the mirror; 0 when there is none",
        () => this.#shards.lagSeconds,
      ],
    } as const;
    for (const [name, [help, read]] of Object.entries(gauges))
      metrics.gauge(name, help, [], (gauge) => gauge.set(read()));
  }

  read(source: ReadSource): void {
    this.#reads.inc({ source });
  }

  /** The mirror could not be read, so the platform is called instead. An outage of the database is logged elsewhere. */
  notRead(error: unknown): void {
    const now = performance.now();
    if (now < this.#quietUntil || asApiError(error).code === 'UNAVAILABLE') return;
    this.#quietUntil = now + QUIET_MS;
    this.#log.error({ err: error }, 'mirror of the chat platform cannot be read, the platform is called instead');
  }

  /** Stores the state of the shards of this process, for the gauges. */
  shards(state: { owned: number; live: number; lagSeconds: number }): void {
    this.#shards = state;
  }

  stored(events: number): void {
    this.#events.inc({ outcome: 'stored' }, events);
  }

  unreadable(type: string, error: ZodError): void {
    this.#events.inc({ outcome: 'skipped' });
    const fields = error.issues.slice(0, 5).map(({ path, message }) => `${path.join('.')}: ${message}`);
    this.#log.warn({ type, fields }, 'event of the chat platform cannot be read, its guild is not mirrored for now');
  }

  /** An event that could not be stored, although the database works. */
  skipped(shardId: number, type: string, error: unknown): void {
    this.#events.inc({ outcome: 'skipped' });
    this.#log.error({ shard: shardId, type, err: error }, 'event of the chat platform could not be stored, skipped');
  }

  failedToStore(shardId: number, error: unknown): void {
    this.#log.warn({ shard: shardId, err: error }, 'failed to store events of the chat platform, will retry');
  }

  claimed(shardId: number, resumes: boolean): void {
    this.#log.info({ shard: shardId, resumes }, "process has claimed a shard of the chat platform's websocket");
  }

  lost(shardId: number): void {
    this.#log.warn({ shard: shardId }, "process lost a shard of the chat platform's websocket to another process");
  }

  started(shardId: number, start: 'begun' | 'resumed'): void {
    this.#sessions.inc({ start });
    this.#log.info({ shard: shardId, start }, "connected to the chat platform's websocket");
  }

  disconnected(shardId: number, code: number): void {
    this.#disconnects.inc({ kind: 'lost' });
    this.#log.info({ shard: shardId, code }, "connection to the chat platform's websocket lost, connecting again");
  }

  rejected(shardId: number, reason: string): void {
    this.#disconnects.inc({ kind: 'rejected' });
    this.#log.error({ shard: shardId, reason }, 'chat platform rejects the connection to its websocket, will retry');
  }

  notConnected(error: unknown): void {
    this.#log.warn({ err: error }, "cannot connect to the chat platform's websocket yet, will retry");
  }

  noSessionsLeft(resetMs: number): void {
    const seconds = Math.ceil(resetMs / 1000);
    this.#log.error({ reset_seconds: seconds }, 'too few sessions of the chat platform are left, will retry');
  }
}
