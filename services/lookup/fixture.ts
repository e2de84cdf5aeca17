import { randomUUID } from 'node:crypto';
import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, vi } from 'vitest';
import type { Environment } from '#kit/service/config.ts';
import { type RunningService, startService } from '#kit/service/service.ts';
import type { RunningRedis } from '#local/redis.ts';
import { ErasureServiceService } from '#proto/gen/guild/common/v1/erasure.ts';
import { LookupServiceService } from '#proto/gen/guild/lookup/v1/lookup.ts';
import { connect } from '#test/network/grpc.ts';
import { createTestDatabase, openTestPool, type TestDatabase } from '#test/postgres/database.ts';
import { startTestRedis } from '#test/redis/server.ts';
import { bundledProgram } from '#test/system/app.ts';
import { type ReplicaProcess, startReplicaProcess } from '#test/system/replica-process.ts';
import { callService, TEST_ADMIN_SECRETS, testEnvironment } from '#test/system/signed-calls.ts';
import { lookupService } from './service.ts';
import { deleteLink } from './store/links.ts';

const ADA = { chatId: '920000000000000001', gameId: 7001, gameUsername: 'AdaBuilds' };

/**
 * Replicas of the lookup service with one database, and one user whose link they cache. They tell each other of removals over
 * Redis or the database.
 */
export class LookupReplicas {
  readonly #over: 'redis' | 'database';
  readonly #folder = mkdtempSync(join(tmpdir(), 'guild-data-lookup-'));
  #redis: RunningRedis | undefined;
  database!: TestDatabase;
  guildId = '';
  readonly #started: RunningService[] = [];
  #guilds = 0;

  constructor(over: 'redis' | 'database' = 'database') {
    this.#over = over;
  }

  async start(): Promise<this> {
    this.database = await createTestDatabase();
    // A server of its own, because other tests' replicas, which end, would empty the caches of these.
    if (this.#over === 'redis') this.#redis = await startTestRedis(this.#folder);
    return this;
  }

  async stop(): Promise<void> {
    for (const replica of this.#started) await replica.stop();
    await this.#redis?.stop();
    await rm(this.#folder, { recursive: true });
    await this.database.drop();
  }

  /** Continues in a guild that no test has used yet. */
  useNewGuild(): void {
    this.guildId = String(910_000_000_000_000_000n + BigInt(++this.#guilds));
  }

  /** Starts a replica and waits until it receives the removals of others. */
  async startReplica(environment: Environment = {}): Promise<RunningService> {
    const replica = await startService(lookupService, { ...this.#environment(), ...environment });
    this.#started.push(replica);
    await untilReceiving(replica, this.#over);
    return replica;
  }

  /** Starts a replica in a process of its own and waits until it receives the removals of others. */
  async startProcess(): Promise<ReplicaProcess> {
    const replica = await startReplicaProcess(await bundledProgram('lookup'), this.#environment());
    this.#started.push(replica.at);
    await untilReceiving(replica.at, this.#over);
    return replica;
  }

  /** Returns the statuses of lookups by the chat and by the game account. */
  async statusesAt({ addresses }: RunningService): Promise<number[]> {
    const { guildId } = this;
    const service = { address: addresses.http ?? '', audience: 'lookup' };
    const paths = [`/lookup/chat/${ADA.chatId}`, `/lookup/game/${ADA.gameId}`];
    const responses = await Promise.all(
      paths.map((path) => callService(service, { guildId }, { method: 'GET', path })),
    );
    return responses.map(({ status }) => status);
  }

  /** Returns the number of users, linked or not, for whom a replica has read the database because the link was not cached. */
  async readsOf(at: RunningService): Promise<number> {
    return Number(/^lookup_lookups_total\{source="database"\} (\d+)$/m.exec(await metricsOf(at))?.[1]);
  }

  async linkAt({ addresses }: RunningService): Promise<void> {
    const { client, close } = connect(LookupServiceService, 'lookup', addresses.grpc ?? '');
    await client.createLink({ guildId: this.guildId, operationId: randomUUID(), ...ADA }).finally(close);
  }

  async unlinkAt({ addresses }: RunningService, operationId: string = randomUUID()): Promise<void> {
    const { client, close } = connect(LookupServiceService, 'lookup', addresses.grpc ?? '');
    const account = { $case: 'chatId', value: ADA.chatId } as const;
    await client.deleteLink({ guildId: this.guildId, operationId, account }).finally(close);
  }

  /** Removes the link in the database, as a replica does that ends before it announces the removal. */
  async unlinkSilently(operationId: string = randomUUID()): Promise<void> {
    const database = await openTestPool(this.database.url);
    await deleteLink(database, this.guildId, operationId, ADA);
    await database.close();
  }

  async eraseUserAt({ addresses }: RunningService): Promise<void> {
    const address = addresses.grpc ?? '';
    const { client, close } = connect(ErasureServiceService, 'lookup', address, undefined, TEST_ADMIN_SECRETS);
    await client.eraseUser({ guildId: this.guildId, chatId: ADA.chatId, dryRun: false }).finally(close);
  }

  #environment(): Environment {
    return { ...testEnvironment(this.database.url), ...(this.#redis && { REDIS_URL: this.#redis.url }) };
  }
}

const metricsOf = async (at: RunningService) => (await fetch(`http://${at.addresses.admin}/metrics`)).text();

/** Waits until a replica receives the removals of others. */
export async function untilReceiving(at: RunningService, over: 'redis' | 'database'): Promise<void> {
  const isReceiving = `change_feed_receiving{channel="lookup_removals",over="${over}"} 1`;
  await vi.waitUntil(async () => (await metricsOf(at)).includes(isReceiving), { timeout: 10_000 });
}

/** Waits until replicas have cached the link by both accounts. */
export async function cacheLink(replicas: LookupReplicas, ...at: RunningService[]): Promise<void> {
  for (const replica of at) {
    const readsOfLookup = async () => {
      const before = await replicas.readsOf(replica);
      expect(await replicas.statusesAt(replica)).toEqual([200, 200]);
      return (await replicas.readsOf(replica)) - before;
    };
    // An announcement of an earlier test may still arrive and invalidate the link.
    await expect.poll(readsOfLookup).toBe(0);
  }
}
