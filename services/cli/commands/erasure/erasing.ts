import { setTimeout as wait } from 'node:timers/promises';
import type { GrpcClient } from '#kit/grpc/client.ts';
import { type EraseUserResponse, ErasureServiceService } from '#proto/gen/guild/common/v1/erasure.ts';
import type { Terminal } from '../../command.ts';
import type { Connections } from '../../connections.ts';
import { UnfinishedError } from '../../errors.ts';

/**
 * All services with tables, in the order of the erasure. Auth comes after the events service, whose entries it writes
 * into the audit. The lookup service is the last one, because it stores the links between the accounts of a user: after an
 * interruption each account can still be found through the other.
 */
export const SERVICES: readonly string[] = [
  'moderation',
  'activity',
  'members',
  'bindings',
  'events',
  'auth',
  'lookup',
];
/**
 * The maximum number of rounds of an erasure. Requests in flight may write new rows, so services are called again until
 * one round finds no rows.
 */
const MAX_ROUNDS = 3;
const PAUSE_MS = 1_000;

export type ErasureClient = GrpcClient<typeof ErasureServiceService>;
/** Calls a service to erase one batch of its rows, or in a dry run to count all rows. */
export type EraseBatch = (client: ErasureClient, dryRun: boolean) => Promise<EraseUserResponse>;

/** The number of rows that were or would be removed from a table. */
export interface RemovedRows {
  service: string;
  table: string;
  rows: number;
}

export interface ErasingOptions {
  connections: Connections;
  terminal: Terminal;
  eraseBatch: EraseBatch;
}

/** Erases the rows of a guild or a user from all services, batch by batch. */
export class Erasing {
  readonly #clients = new Map<string, ErasureClient>();
  readonly #options: ErasingOptions;
  /** The number of removed rows, by table. */
  readonly #removed = new Map<string, RemovedRows>();

  constructor(options: ErasingOptions) {
    this.#options = options;
  }

  /** Counts the rows that an erasure would remove. */
  async count(): Promise<RemovedRows[]> {
    for (const service of SERVICES) this.#add(service, await this.#options.eraseBatch(this.#client(service), true));
    return [...this.#removed.values()];
  }

  /**
   * Erases in rounds until a round finds no more rows. Throws an UnfinishedError if MAX_ROUNDS rounds all found rows.
   */
  async run(): Promise<RemovedRows[]> {
    for (let round = 0; round < MAX_ROUNDS; round++) {
      let found = 0;
      for (const service of SERVICES) found += await this.#eraseFrom(service);
      if (found === 0) return [...this.#removed.values()];
    }
    throw new UnfinishedError();
  }

  async #eraseFrom(service: string): Promise<number> {
    const { eraseBatch, terminal } = this.#options;
    let sum = 0;
    for (let isDone = false; !isDone; ) {
      const response = await eraseBatch(this.#client(service), false);
      isDone = response.isDone;
      const rows = this.#add(service, response);
      sum += rows;
      if (isDone) break;
      terminal.report(
        rows > 0 ? `${service}: ${sum} rows so far` : `${service}: waiting until more rows can be erased`,
      );
      if (rows === 0) await wait(PAUSE_MS);
    }
    return sum;
  }

  #add(service: string, { tables }: EraseUserResponse): number {
    for (const { table, rows } of tables) {
      const before = this.#removed.get(table)?.rows ?? 0;
      this.#removed.set(table, { service, table, rows: before + rows });
    }
    return tables.reduce((sum, { rows }) => sum + rows, 0);
  }

  #client(service: string): ErasureClient {
    const client = this.#clients.get(service) ?? this.#options.connections.admin(ErasureServiceService, service);
    this.#clients.set(service, client);
    return client;
  }
}
