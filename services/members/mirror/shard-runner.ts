import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { asApiError } from '#kit/errors.ts';
import type { Database } from '#kit/postgres/pool.ts';
import { backoffMs } from '#kit/resilience/backoff.ts';
import { type GatewayDispatch, GatewayShard, type GatewayShardOptions } from '#platforms/discord/gateway/shard.ts';
import * as store from '../store/chat-shards.ts';
import type { MirrorTelemetry } from '../telemetry/mirror.ts';
import type { MirrorWriter } from './mirror-writer.ts';

/** How long another process waits after the owner of a shard has died, in milliseconds. */
export const LEASE_MS = 10_000;
const RENEW_MS = 1_000;
/** How long the mirror is used after the last renewal. */
const LIVE_MS = 5_000;
/** The mirror is not used while the oldest event that is not stored has waited for longer than this. */
const MAX_LAG_MS = 3_000;
const BATCH = 50;
/** Events that wait to be stored. With more the connection is closed, and the platform sends them again. */
const MAX_WAITING = 20_000;
const BACKOFF = { minMs: 200, maxMs: 5_000 };
/** How often an event is tried that cannot be stored although the database works. */
const MAX_ATTEMPTS = 5;
/** How long a connection that the platform refuses is not tried again, in milliseconds. */
const REFUSED_MS = 5 * 60_000;

export interface ShardRunnerOptions {
  database: Database;
  writer: MirrorWriter;
  telemetry: MirrorTelemetry;
  shard: store.OwnedShard;
  /** Identifies this process as the owner of the shard. */
  holder: string;
  connection: Pick<GatewayShardOptions, 'url' | 'token' | 'admitIdentify'>;
}

/**
 * Runs one shard that this process owns: receives its events and stores them in order, each with its number in the same
 * transaction. After a failure the session continues after the last stored event.
 */
export class ShardRunner {
  readonly #options: ShardRunnerOptions;
  readonly #stopped = new AbortController();
  readonly #waiting: (GatewayDispatch & { receivedAt: number })[] = [];
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
  }

  get shardId(): number {
    return this.#options.shard.shardId;
  }

  /** Seconds since the oldest event was received that is not stored. */
  get lagSeconds(): number {
    const [oldest] = this.#waiting;
    return oldest ? (performance.now() - oldest.receivedAt) / 1000 : 0;
  }

  get isLive(): boolean {
    return this.#isConnected && this.#isCaughtUp && this.lagSeconds * 1000 < MAX_LAG_MS;
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
      refused: (reason) => void this.#refused(reason),
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
    this.#waiting.length = 0;
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
    // The library has passed on events in another order than the platform sent them, or more than can be stored.
    const { sessionId, sequence } = this.#last ?? {};
    const isInOrder = dispatch.sessionId !== sessionId || sequence === undefined || dispatch.sequence > sequence;
    if (!isInOrder || this.#waiting.length >= MAX_WAITING) return void this.#reconnect();
    this.#last = dispatch;
    this.#waiting.push({ ...dispatch, receivedAt: performance.now() });
    this.#storing ??= this.#store().finally(() => {
      this.#storing = undefined;
    });
  }

  /** Stores the waiting events, batch by batch. Failures are retried, because no event may be left out. */
  async #store(): Promise<void> {
    let attempts = 0;
    while (this.#waiting.length > 0 && !this.#stopped.signal.aborted) {
      // After a failure events are stored one at a time, so that one that cannot be stored is found.
      const batch = this.#nextBatch(attempts === 0 ? BATCH : 1);
      try {
        if (!(await this.#storeBatch(batch))) return this.stop();
        this.#stored(batch);
        attempts = 0;
      } catch (error) {
        attempts += 1;
        if (attempts > MAX_ATTEMPTS && asApiError(error).code !== 'UNAVAILABLE' && batch[0]) {
          this.#options.telemetry.skipped(this.shardId, batch[0].type, error);
          this.#waiting.shift();
          attempts = 0;
          continue;
        }
        this.#options.telemetry.failedToStore(this.shardId, error);
        const { signal } = this.#stopped;
        await sleep(backoffMs(attempts, BACKOFF), undefined, { signal }).catch(() => undefined);
      }
    }
  }

  /** Returns the oldest events, all of one session: the numbers of two sessions cannot be compared. */
  #nextBatch(size: number): GatewayDispatch[] {
    const batch = this.#waiting.slice(0, size);
    const end = batch.findIndex(({ sessionId }) => sessionId !== batch[0]?.sessionId);
    return end === -1 ? batch : batch.slice(0, end);
  }

  #stored(batch: readonly GatewayDispatch[]): void {
    // The queue is empty if the connection was replaced meanwhile; the events then come again.
    if (this.#waiting[0]?.sequence !== batch[0]?.sequence) return;
    this.#waiting.splice(0, batch.length);
    this.#options.telemetry.stored(batch.length);
    if (this.#isConnected && batch.some(({ type }) => type === 'READY' || type === 'RESUMED')) {
      this.#isCaughtUp = true;
      void this.#renew();
    }
  }

  /** Stores events and their position in one transaction. Returns false if another process owns the shard. */
  #storeBatch(batch: readonly GatewayDispatch[]): Promise<boolean> {
    const { database, shard, holder, writer } = this.#options;
    return database.transaction(async (transaction) => {
      const current = await store.lockShard(transaction, shard, holder);
      if (!current) return false;
      // Of a transaction whose outcome was not known the events may be stored already.
      const { session } = current;
      const isNew = ({ sessionId, sequence }: GatewayDispatch) =>
        session?.sessionId !== sessionId || sequence > session.sequence;
      const fresh = batch.filter(isNew);
      const last = fresh.at(-1);
      if (!last) return true;
      await writer.write(transaction, fresh, current);
      await store.advanceShard(transaction, shard, last.sequence);
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

  async #refused(reason: string): Promise<void> {
    const { database, shard, holder, telemetry } = this.#options;
    telemetry.refused(shard.shardId, reason);
    this.#isConnected = false;
    this.#isCaughtUp = false;
    await store.setRefused(database, shard, holder, reason).catch(() => undefined);
    const { signal } = this.#stopped;
    await sleep(REFUSED_MS, undefined, { signal }).catch(() => undefined);
    if (!signal.aborted) await this.#reconnect();
  }
}
