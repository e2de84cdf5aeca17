import { type Clock, unixSeconds } from '#kit/clock.ts';
import { type Answer, ok } from '#kit/envelope.ts';
import { ApiError } from '#kit/errors.ts';
import type { Idempotency, RepeatableWrite, WriteOutcome } from '#kit/idempotency.ts';
import type { Notifier } from '#kit/notifier.ts';
import type { Queryable } from '#kit/postgres.ts';
import type { ActivityEvents } from '../events.ts';
import * as store from '../store/commands.ts';
import * as newCommands from '../store/new-commands.ts';
import { serverKey } from './leases.ts';

/** Who is to get a command. */
export type Servers = { serverId: string } | { placeId: number } | { all: true };

export interface CommandsOptions {
  database: Queryable;
  idempotency: Idempotency;
  clock: Clock;
  notifier: Notifier;
  events: ActivityEvents;
}

export interface Acknowledged {
  command_id: string;
  status: store.AckStatus;
  acked_at: number;
}

/** What game servers are told, up to its acknowledgement. */
export class Commands {
  readonly #options: CommandsOptions;

  constructor(options: CommandsOptions) {
    this.#options = options;
  }

  /**
   * A command for a server, live or not, or for each live one of a place or of the guild. CONFLICT where too many wait
   * for the one server; of several, those for which too many wait are passed over and counted.
   */
  async enqueue(
    guildId: string,
    servers: Servers,
    command: store.NewCommand,
    ttlSeconds: number | undefined,
  ): Promise<newCommands.Sent> {
    const { database } = this.#options;
    const placeId = 'placeId' in servers ? servers.placeId : undefined;
    const sent =
      'serverId' in servers
        ? await this.#enqueueFor(guildId, servers.serverId, command, ttlSeconds)
        : await newCommands.insertForLive(database, guildId, placeId, command, ttlSeconds, this.#now());
    this.#tell(guildId, command, sent.commandIds.length);
    return sent;
  }

  /** A decision's command for each live server, once however often this is called; how many servers have it. */
  async deliver(guildId: string, decision: newCommands.Decision, command: store.NewCommand): Promise<number> {
    const { database } = this.#options;
    const { servers, added } = await newCommands.insertDecision(database, guildId, decision, command, this.#now());
    if (added > 0) this.#tell(guildId, command, added);
    return servers;
  }

  /** NOT_FOUND for a command that the server does not have, CONFLICT where it was acknowledged otherwise. */
  async acknowledge(write: RepeatableWrite, ack: store.Ack): Promise<WriteOutcome<Acknowledged>> {
    const { idempotency, events } = this.#options;
    let isNew = false;
    const outcome = await idempotency.inTransaction(write, async (transaction): Promise<Answer<Acknowledged>> => {
      isNew = (await store.ackCommands(transaction, [ack], this.#now())).length > 0;
      const found = await store.findAck(transaction, ack);
      if (!found) throw new ApiError('NOT_FOUND', { message: 'No such command for this server' });
      const { status, ackedAt } = found;
      if (status !== ack.status) {
        throw new ApiError('CONFLICT', { message: `The command was acknowledged as ${status}` });
      }
      return ok({ command_id: ack.commandId, status, acked_at: unixSeconds(ackedAt) });
    });
    if (isNew) events.commandAcknowledged(ack);
    return outcome;
  }

  /** What servers say of commands with their heartbeats. Unknown and acknowledged ones are passed over. */
  async acknowledgeAll(acks: readonly store.Ack[]): Promise<void> {
    if (acks.length === 0) return;
    // Of several of one command the first; what another server says of it is another matter, and means nothing.
    const nameOf = (ack: Omit<store.Ack, 'status' | 'result' | 'error'>) => `${serverKey(ack)} ${ack.commandId}`;
    const first = new Map(acks.toReversed().map((ack) => [nameOf(ack), ack]));
    const acked = await store.ackCommands(this.#options.database, [...first.values()], this.#now());
    for (const command of acked) this.#options.events.commandAcknowledged(first.get(nameOf(command)) as store.Ack);
  }

  /** The newest first. */
  list(guildId: string, limit: number) {
    return store.listCommands(this.#options.database, guildId, limit);
  }

  async #enqueueFor(
    guildId: string,
    serverId: string,
    command: store.NewCommand,
    ttlSeconds: number | undefined,
  ): Promise<newCommands.Sent> {
    const { database } = this.#options;
    const id = await newCommands.insertCommand(database, guildId, serverId, command, ttlSeconds, this.#now());
    if (id !== undefined) return { commandIds: [id], fullServers: 0 };
    const message = `The server has ${newCommands.MOST_WAITING} commands waiting, the most that it can`;
    throw new ApiError('CONFLICT', { message });
  }

  #now(): Date {
    return new Date(this.#options.clock.now());
  }

  #tell(guildId: string, command: store.NewCommand, servers: number): void {
    this.#options.events.commandsEnqueued(guildId, command, servers);
    if (servers > 0) this.#options.notifier.tell(guildId);
  }
}
