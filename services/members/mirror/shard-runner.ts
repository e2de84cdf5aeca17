import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { asApiError } from '#kit/errors.ts';
import type { Database } from '#kit/postgres/pool.ts';
import { backoffMs } from '#kit/resilience/backoff.ts';
import { type GatewayDispatch, GatewayShard, type GatewayShardOptions } from '#platforms/discord/gateway/shard.ts';
import * as store from '../store/chat-shards.ts';
import type { MirrorTelemetry } from '../telemetry/mirror.ts';
import type { MirrorWriter, PreparedEvent } from './mirror-writer.ts';
import type { WaitingEvents } from './waiting-events.ts';

/** How long another process waits after the owner of a shard has died, in milliseconds. */
export const LEASE_MS = 10_000;
const RENEW_MS = 1_000;
/** How long the mirror is used after the last renewal. */
const LIVE_MS = 5_000;
/** The mirror is not used while the oldest event that is not stored has waited for longer than this. */
const MAX_LAG_MS = 3_000;
const BATCH = 50;
const BACKOFF = { minMs: 200, maxMs: 5_000 };
/** How often an event is tried that cannot be stored although the database works. */
const MAX_ATTEMPTS = 5;
/** How long a connection that the platform rejects is not tried again, in milliseconds. */
const REJECTED_MS = 5 * 60_000;

export interface ShardRunnerOptions {
  database: Database;
  writer: MirrorWriter;
  telemetry: MirrorTelemetry;
  shard: store.OwnedShard;
  /** Identifies this process as the owner of the shard. */
  holder: string;
  connection: Pick<GatewayShardOptions, 'url' | 'token' | 'admitIdentify'>;
  /** The events that wait to be stored. */
  waiting: WaitingEvents;
}

/**
 * Runs one shard that this process owns: receives its events and stores them in order, each with its number in the same
 * transaction. After a failure the session continues after the last stored event.
 */
export class ShardRunner {
  readonly #options: ShardRunnerOptions;
  readonly #stopped = new AbortController();
  readonly #waiting: WaitingEvents;
  #connection: GatewayShard | undefined;
  #storing: Promise<void> | undefined;
  #isConnected = false;
  /** True if the mirror is current: the session began or was resumed, and everything before that is stored. */
  #isCaughtUp = false;
  #renewedAt = performance.now();
  /** The event that was received last on this connection. */
  #last: Pick<GatewayDispatch, 'sessionId' | 'sequence'> | undefined;

  constructor(options: ShardRunnerOptions) {
    this.#options = options;
    this.#waiting = options.waiting;
  }

  get shardId(): number {
    return this.#options.shard.shardId;
  }

  /** Seconds since the oldest event was received that is not stored. */
  get lagSeconds(): number {
    return this.#waiting.lagMs / 1000;
  }

  get isLive(): boolean {
    return this.#isConnected && this.#isCaughtUp && this.#waiting.lagMs < MAX_LAG_MS;
  }

  /** Runs until `stop` is called, or until another process owns the shard. */
  async run(): Promise<void> {
    const { signal } = this.#stopped;
    this.#connect(this.#options.shard);
    while (!signal.aborted && (await this.#renew())) {
      await sleep(RENEW_MS, undefined, { signal }).catch(() => undefined);
    }
    await this.#end();
  }

  stop(): void {
    this.#stopped.abort();
  }

  async #end(): Promise<void> {
    const { database, shard, holder } = this.#options;
    this.#stopped.abort();
    await this.#disconnect();
    await this.#storing;
    this.#waiting.end();
    await store.releaseShard(database, shard, holder).catch(() => undefined);
  }

  #connect({ session }: store.OwnedShard): void {
    const { shard, connection, telemetry } = this.#options;
    const { shardId, shardCount } = shard;
    this.#connection = new GatewayShard({
      ...connection,
      shardId,
      shardCount,
      session,
      dispatched: (dispatch) => this.#received(dispatch),
      disconnected: (code) => {
        telemetry.disconnected(shardId, code);
        this.#isConnected = false;
        this.#isCaughtUp = false;
        void this.#renew();
      },
      rejected: (reason) => void this.#rejected(reason),
    });
    this.#connection.start();
  }

  async #disconnect(): Promise<void> {
    this.#isConnected = false;
    this.#isCaughtUp = false;
    await this.#connection?.stop();
  }

  /** Connects again, to continue after the last stored event. */
  async #reconnect(): Promise<void> {
    const { database, shard, holder } = this.#options;
    await this.#disconnect();
    this.#waiting.clear();
    this.#last = undefined;
    const { signal } = this.#stopped;
    for (let attempts = 1; !signal.aborted; attempts++) {
      try {
        const current = await store.lockShard(database, shard, holder);
        return current ? this.#connect(current) : this.stop();
      } catch {
        await sleep(backoffMs(attempts, BACKOFF), undefined, { signal }).catch(() => undefined);
      }
    }
  }

  #received(dispatch: GatewayDispatch): void {
    const { type } = dispatch;
    if (type === 'READY' || type === 'RESUMED') {
      this.#isConnected = true;
      this.#options.telemetry.started(this.shardId, type === 'READY' ? 'begun' : 'resumed');
    }
    // The library has passed on events in another order than the platform sent them.
    const { sessionId, sequence } = this.#last ?? {};
    const isInOrder = dispatch.sessionId !== sessionId || sequence === undefined || dispatch.sequence > sequence;
    if (!isInOrder) return void this.#reconnect();
    this.#last = { sessionId: dispatch.sessionId, sequence: dispatch.sequence };
    this.#waiting.add(this.#options.writer.prepare(dispatch));
    this.#storing ??= this.#store().finally(() => {
      this.#storing = undefined;
    });
    if (this.#waiting.isFull) void this.#pause();
  }

  /** Closes the connection until the events that were received are stored. The platform then sends those after them. */
  async #pause(): Promise<void> {
    await this.#disconnect();
    await this.#storing;
    await this.#reconnect();
  }

  /** Stores the waiting events, batch by batch. Failures are retried, because no event may be left out. */
  async #store(): Promise<void> {
    let attempts = 0;
    while (this.#waiting.size > 0 && !this.#stopped.signal.aborted) {
      // After a failure events are stored one at a time, so that one that cannot be stored is found.
      const batch = this.#waiting.oldest(attempts === 0 ? BATCH : 1);
      try {
        if (!(await this.#storeBatch(batch))) return this.stop();
        this.#stored(batch);
        attempts = 0;
      } catch (error) {
        attempts += 1;
        if (attempts > MAX_ATTEMPTS && asApiError(error).code !== 'UNAVAILABLE' && batch[0]) {
          this.#options.telemetry.skipped(this.shardId, batch[0].type, error);
          this.#waiting.remove(batch);
          // Without its beginning nothing of a session can be stored.
          if (batch[0].type === 'READY') return void this.#rejected('its session cannot be stored');
          attempts = 0;
          continue;
        }
        this.#options.telemetry.failedToStore(this.shardId, error);
        const { signal } = this.#stopped;
        await sleep(backoffMs(attempts, BACKOFF), undefined, { signal }).catch(() => undefined);
      }
    }
  }

  #stored(batch: readonly PreparedEvent[]): void {
    // They are not the oldest any more if the connection was replaced meanwhile; the events then come again.
    if (!this.#waiting.remove(batch)) return;
    this.#options.telemetry.stored(batch.length);
    if (this.#isConnected && batch.some(({ type }) => type === 'READY' || type === 'RESUMED')) {
      this.#isCaughtUp = true;
      void this.#renew();
    }
  }

  /**
   * Stores events and their position in one transaction. Returns false if another process owns the shard, or if the shard
   * has another session.
   */
  #storeBatch(batch: readonly PreparedEvent[]): Promise<boolean> {
    const { database, shard, holder, writer } = this.#options;
    return database.transaction(async (transaction) => {
      const current = await store.lockShard(transaction, shard, holder);
      if (!current) return false;
      const fresh = notStored(batch, current.session);
      if (!fresh) return false;
      const last = fresh.at(-1);
      if (!last) return true;
      await writer.write(transaction, fresh, current);
      // Nothing is stored of events that do not continue the session of the shard.
      if (!(await store.advanceShard(transaction, shard, holder, last)))
        throw new Error('the shard has another session');
      return true;
    });
  }

  /** Extends the lease. Returns false if the shard is lost. */
  async #renew(): Promise<boolean> {
    const { database, shard, holder, telemetry } = this.#options;
    const liveMs = this.isLive ? LIVE_MS : 0;
    try {
      const isOwner = await store.renewShard(database, shard, holder, { leaseMs: LEASE_MS, liveMs });
      if (isOwner) this.#renewedAt = performance.now();
      else telemetry.lost(shard.shardId);
      return isOwner;
    } catch {
      // While the database is down nobody can acquire the shard.
      return performance.now() - this.#renewedAt < 6 * LEASE_MS;
    }
  }

  async #rejected(reason: string): Promise<void> {
    const { database, shard, holder, telemetry } = this.#options;
    telemetry.rejected(shard.shardId, reason);
    this.#isConnected = false;
    this.#isCaughtUp = false;
    await store.setRejected(database, shard, holder, reason).catch(() => undefined);
    const { signal } = this.#stopped;
    await sleep(REJECTED_MS, undefined, { signal }).catch(() => undefined);
    if (!signal.aborted) await this.#reconnect();
  }
}

/**
 * Returns the events, all of one session, that are not stored yet: those of a transaction whose outcome was not known may
 * be. Returns undefined if they do not continue the stored session and do not begin another one.
 */
function notStored(
  batch: readonly PreparedEvent[],
  stored: store.ShardSession | null,
): readonly PreparedEvent[] | undefined {
  const [first] = batch;
  if (stored && first?.sessionId === stored.sessionId)
    return batch.filter(({ sequence }) => sequence > stored.sequence);
  return first?.type === 'READY' ? batch : undefined;
}
