import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { withPurpose } from '#kit/context.ts';
import type { Database } from '#kit/postgres/pool.ts';
import { backoffMs } from '#kit/resilience/backoff.ts';
import type { Part } from '#kit/service/lifecycle.ts';
import type { GatewayInfo } from '#platforms/discord/gateway/info.ts';
import * as store from '../store/chat-shards.ts';
import type { MirrorTelemetry } from '../telemetry/mirror.ts';
import type { MirrorWriter } from './mirror-writer.ts';
import { LEASE_MS, ShardRunner } from './shard-runner.ts';
import { WaitingEvents, WaitingTotal } from './waiting-events.ts';

const CLAIM_MS = 1_000;
/** The platform allows one new session in five seconds for each of its rate limits; a bit more for the way to it. */
const IDENTIFY_EVERY_MS = 5_200;
const IDENTIFY_RETRY_MS = 300;
/** How long what the platform says about new sessions is used, in milliseconds. */
const INFO_TTL_MS = 30_000;
/** Sessions that are left for an operator who has to repair something: at 0 the platform replaces the bot's token. */
const RESERVED_SESSIONS = 20;
const BACKOFF = { minMs: 1_000, maxMs: 60_000 };

export interface ChatGatewayOptions {
  database: Database;
  /** Reads how the websocket is reached. */
  readInfo: () => Promise<GatewayInfo>;
  token: string;
  /** The number of shards; if 0, that of the last start, and at the first start what the platform recommends. */
  shards: number;
  /** The maximum number of shards of this process. */
  maxShards: number;
  writer: MirrorWriter;
  telemetry: MirrorTelemetry;
}

/**
 * Connects this process to the chat platform's websocket: acquires shards that no other process owns, and runs them.
 */
export class ChatGateway implements Part {
  readonly name = 'chat gateway';
  readonly #options: ChatGatewayOptions;
  readonly #stopped = new AbortController();
  readonly #runners = new Map<ShardRunner, Promise<void>>();
  readonly #waiting = new WaitingTotal();
  #running: Promise<void> = Promise.resolve();
  #info: { info: GatewayInfo; readAt: number } | undefined;

  constructor(options: ChatGatewayOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    this.#running = withPurpose('background', () => this.#run());
  }

  /** Closes the connections so that other processes can resume their sessions at once. */
  async drain(): Promise<void> {
    this.#stopped.abort();
    for (const runner of this.#runners.keys()) runner.stop();
    await this.#running;
    await Promise.all(this.#runners.values());
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopped;
    let shardCount: number | undefined;
    for (let failures = 0; !signal.aborted; ) {
      try {
        shardCount ??= await this.#prepare();
        await this.#claim(shardCount);
        this.#report();
        failures = 0;
        // Replicas that start together get about the same number of shards, because each takes one at a time.
        await this.#sleep(CLAIM_MS * (0.75 + Math.random() / 2));
      } catch (error) {
        failures += 1;
        if (!signal.aborted) this.#options.telemetry.notConnected(error);
        await this.#sleep(backoffMs(failures, BACKOFF));
      }
    }
  }

  /** Returns the number of shards, and makes sure that each has a row. */
  async #prepare(): Promise<number> {
    const { database, shards } = this.#options;
    const { info } = await this.#currentInfo();
    const shardCount = shards > 0 ? shards : ((await store.findShardCount(database)) ?? info.shards);
    await store.addShards(database, shardCount);
    return shardCount;
  }

  async #claim(shardCount: number): Promise<void> {
    const { database, maxShards, writer, telemetry, token } = this.#options;
    if (this.#runners.size >= maxShards) return;
    // A new holder for each claim: a process that claims its own expired shard must not renew it for the earlier owner.
    const holder = randomUUID();
    const shard = await store.claimShard(database, shardCount, holder, LEASE_MS);
    if (!shard) return;
    telemetry.claimed(shard.shardId, shard.session !== null);
    const { info } = await this.#currentInfo();
    const admitIdentify = (signal: AbortSignal) => this.#admitIdentify(shard, signal);
    const connection = { url: info.url, token, admitIdentify };
    const waiting = new WaitingEvents(this.#waiting);
    const runner = new ShardRunner({ database, writer, telemetry, shard, holder, connection, waiting });
    this.#runners.set(
      runner,
      runner.run().finally(() => this.#runners.delete(runner)),
    );
  }

  #report(): void {
    const runners = [...this.#runners.keys()];
    this.#options.telemetry.shards({
      owned: runners.length,
      live: runners.filter(({ isLive }) => isLive).length,
      lagSeconds: Math.max(0, ...runners.map(({ lagSeconds }) => lagSeconds)),
    });
  }

  async #currentInfo() {
    if (!this.#info || performance.now() - this.#info.readAt > INFO_TTL_MS)
      this.#info = { info: await this.#options.readInfo(), readAt: performance.now() };
    return this.#info;
  }

  /** Waits until the shard may begin a session. Rejects only after a stop. */
  async #admitIdentify(shard: store.ShardName, stopped: AbortSignal): Promise<void> {
    const signal = AbortSignal.any([stopped, this.#stopped.signal]);
    for (let failures = 0; ; ) {
      signal.throwIfAborted();
      try {
        const { info, readAt } = await withPurpose('background', () => this.#currentInfo());
        const resetMs = info.resetMs - (performance.now() - readAt);
        if (info.remaining <= RESERVED_SESSIONS && resetMs > 0) {
          this.#options.telemetry.noSessionsLeft(resetMs);
          await this.#sleep(Math.min(resetMs, INFO_TTL_MS), signal);
        } else if (await this.#isAdmitted(shard, info)) return;
        else await this.#sleep(IDENTIFY_RETRY_MS, signal);
        failures = 0;
      } catch (error) {
        failures += 1;
        if (!signal.aborted) this.#options.telemetry.notConnected(error);
        await this.#sleep(backoffMs(failures, BACKOFF), signal);
      }
    }
  }

  #isAdmitted(shard: store.ShardName, { concurrency }: GatewayInfo): Promise<boolean> {
    return this.#options.database.transaction((transaction) =>
      store.admitIdentify(transaction, shard, { concurrency, everyMs: IDENTIFY_EVERY_MS }),
    );
  }

  #sleep(milliseconds: number, signal = this.#stopped.signal): Promise<void> {
    return sleep(milliseconds, undefined, { signal }).catch(() => undefined);
  }
}
