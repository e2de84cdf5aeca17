import { setTimeout as wait } from 'node:timers/promises';
import type { GrpcClient } from '#kit/grpc/client.ts';
import { type EraseUserResponse, ErasureServiceService } from '#proto/gen/guild/common/v1/erasure.ts';
import type { Screen } from './command.ts';
import type { Connections } from './connections.ts';

/** What is to be erased is being written all the time. The audit says that it was begun, not that it is done. */
export class UnfinishedError extends Error {
  constructor() {
    super('Not done: rows are still being written. Stop what sends them, and run this again');
    this.name = 'UnfinishedError';
  }
}

/**
 * Every service with tables. Lookup comes last: until then a user's accounts can be found by each other, also after an
 * interruption.
 */
export const SERVICES: readonly string[] = ['moderation', 'activity', 'members', 'bindings', 'auth', 'lookup'];
/** Requests that were in flight may have written behind us; a client that keeps sending data stores it again. */
const MAX_ROUNDS = 3;
const PAUSE_MS = 1_000;

export type ErasureClient = GrpcClient<typeof ErasureServiceService>;
/** One call of a service, which does a part of the work. */
export type Step = (client: ErasureClient, dryRun: boolean) => Promise<EraseUserResponse>;

export interface Removed {
  service: string;
  table: string;
  rows: number;
}

/** Takes a step with every service until there is nothing left to do. */
export class Erasing {
  readonly #clients = new Map<string, ErasureClient>();
  readonly #connections: Connections;
  readonly #step: Step;
  readonly #screen: Screen;
  readonly #rows = new Map<string, Removed>();

  constructor(connections: Connections, step: Step, screen: Screen) {
    this.#connections = connections;
    this.#step = step;
    this.#screen = screen;
  }

  /** What there is, in the order of the services. */
  async count(services: readonly string[]): Promise<Removed[]> {
    for (const service of services) this.#add(service, await this.#step(this.#client(service), true));
    return [...this.#rows.values()];
  }

  /** Erases until nothing is found any more, and returns what was removed. UnfinishedError when more keeps coming. */
  async run(services: readonly string[]): Promise<Removed[]> {
    for (let round = 0; round < MAX_ROUNDS; round++) {
      let found = 0;
      for (const service of services) found += await this.#finish(service);
      if (found === 0) return [...this.#rows.values()];
    }
    throw new UnfinishedError();
  }

  async #finish(service: string): Promise<number> {
    let sum = 0;
    for (let isDone = false; !isDone; ) {
      const answer = await this.#step(this.#client(service), false);
      isDone = answer.isDone;
      const rows = this.#add(service, answer);
      sum += rows;
      if (!isDone)
        this.#screen.tell(rows > 0 ? `${service}: ${sum} rows so far` : `${service}: waiting until it may go on`);
      if (!isDone && rows === 0) await wait(PAUSE_MS);
    }
    return sum;
  }

  #add(service: string, { tables }: EraseUserResponse): number {
    for (const { table: name, rows } of tables) {
      const before = this.#rows.get(name)?.rows ?? 0;
      this.#rows.set(name, { service, table: name, rows: before + rows });
    }
    return tables.reduce((sum, { rows }) => sum + rows, 0);
  }

  #client(service: string): ErasureClient {
    const client = this.#clients.get(service) ?? this.#connections.admin(ErasureServiceService, service);
    this.#clients.set(service, client);
    return client;
  }
}
