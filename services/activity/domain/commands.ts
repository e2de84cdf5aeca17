import { createHash } from 'node:crypto';
import { type Clock, unixSeconds } from '#kit/clock.ts';
import { ApiError } from '#kit/errors.ts';
import { type Answer, ok } from '#kit/http/envelope.ts';
import type { Idempotency, RepeatableWrite, WriteOutcome } from '#kit/postgres/idempotency.ts';
import type { Notifier } from '#kit/postgres/notifier.ts';
import type { Database, Queryable } from '#kit/postgres/pool.ts';
import * as records from '../store/command-records.ts';
import * as store from '../store/commands.ts';
import { lockGuilds } from '../store/guilds.ts';
import * as newCommands from '../store/new-commands.ts';
import { serverKey } from '../store/servers.ts';
import type { ActivityEvents } from '../telemetry.ts';

/** Who is to get a command. */
export type Servers = { serverId: string } | { placeId: number } | { all: true };

export interface CommandsOptions {
  database: Database;
  idempotency: Idempotency;
  clock: Clock;
  notifier: Notifier;
  events: ActivityEvents;
}

/** A command that an operator sends. */
export interface Request {
  guildId: string;
  servers: Servers;
  command: store.NewCommand;
  /** undefined: 4 times the interval of heartbeats, at least 120 s. */
  ttlSeconds: number | undefined;
  /** The same key again sends nothing, and gets the first answer. */
  idempotencyKey: string | undefined;
}

/** A decision of moderation, and whom it is to reach. */
export interface Decision {
  eventId: string;
  placeId: number | undefined;
  /** It knows already. */
  sourceServerId: string | undefined;
  decidedAt: Date;
  /** After this it is of no use. */
  expiresAt: Date | undefined;
}

export interface Acknowledged {
  command_id: string;
  status: store.AckStatus;
  acked_at: number;
}

/** Commands to game servers, up to their acknowledgement. */
export class Commands {
  readonly #options: CommandsOptions;

  constructor(options: CommandsOptions) {
    this.#options = options;
  }

  /**
   * Sends a command to a server, live or not, or to every live one of a place or of the guild. CONFLICT where too many
   * wait already, or where the idempotency key was used for another command.
   */
  async enqueue(request: Request, actor: string): Promise<newCommands.Sent> {
    const { guildId, command } = request;
    const hash = requestHash(request);
    const { sent, isNew } = await this.#locked(guildId, async (transaction) => {
      const key = request.idempotencyKey;
      const before = key === undefined ? undefined : await newCommands.findRequest(transaction, guildId, key);
      if (before && !before.hash.equals(hash)) {
        throw new ApiError('CONFLICT', { message: 'This idempotency key was used for another command' });
      }
      if (before) return { sent: before, isNew: false };
      return { sent: await this.#insert(transaction, request, hash), isNew: true };
    });
    if (isNew) this.#sent(guildId, command, sent.servers, actor);
    return sent;
  }

  /**
   * A decision's command for the servers that were live when it was decided, or that have become live until now: while
   * activity is down no server can show that it is live. Sent once however often this is called; to how many servers.
   */
  async deliver(guildId: string, decision: Decision, command: store.NewCommand): Promise<number> {
    const now = this.#now();
    const { servers, isNew } = await this.#locked(guildId, async (transaction) => {
      const before = await newCommands.findDecision(transaction, guildId, decision.eventId);
      if (before !== undefined) return { servers: before, isNew: false };
      if (decision.expiresAt && decision.expiresAt <= now) return { servers: 0, isNew: false };
      await newCommands.expireOldest(transaction, guildId, now);
      const sending = {
        guildId,
        command,
        key: { eventId: decision.eventId },
        lifetime: { ttlSeconds: undefined, until: decision.expiresAt },
        now,
      };
      const liveAt = decision.decidedAt < now ? decision.decidedAt : now;
      const reach = { placeId: decision.placeId, excludedServerId: decision.sourceServerId, liveAt };
      const sent = await newCommands.insertForSeveral(transaction, sending, reach);
      return { servers: sent?.servers ?? 0, isNew: sent !== undefined };
    });
    if (isNew) this.#sent(guildId, command, servers, undefined);
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

  /** A page of a guild's commands, the newest first. */
  list(guildId: string, filter: records.CommandFilter): Promise<records.CommandRecord[]> {
    return records.listCommands(this.#options.database, guildId, filter, this.#now());
  }

  /** NOT_FOUND for an unknown command. */
  async read(guildId: string, commandId: string): Promise<records.CommandRecord> {
    return (await records.findCommand(this.#options.database, guildId, commandId, this.#now())) ?? unknown();
  }

  /** A page of the servers of a command for several; see `listServersOf`. */
  serversOf(guildId: string, commandId: string, after: string, limit: number): Promise<records.ServerRecord[]> {
    return records.listServersOf(this.#options.database, guildId, commandId, after, limit);
  }

  /** Cancels a command for the servers to which it was not handed over: how many. NOT_FOUND for an unknown command. */
  async cancel(guildId: string, commandId: string, actor: string): Promise<number> {
    const { database, events } = this.#options;
    const cancelled = (await records.cancelCommand(database, guildId, commandId, this.#now())) ?? unknown();
    if (cancelled > 0) events.commandCancelled(guildId, commandId, cancelled, actor);
    return cancelled;
  }

  async #insert(transaction: Queryable, request: Request, hash: Buffer): Promise<newCommands.Sent> {
    const { guildId, servers, command, ttlSeconds, idempotencyKey: key } = request;
    const now = this.#now();
    const sending = {
      guildId,
      command,
      key: key === undefined ? {} : { request: { key, hash } },
      lifetime: { ttlSeconds, until: undefined },
      now,
    };
    const most = newCommands.MAX_WAITING;
    if ('serverId' in servers) {
      const sent = await newCommands.insertForServer(transaction, sending, servers.serverId);
      return sent ?? full(`The server has ${most} commands waiting, which is the maximum`);
    }
    const placeId = 'placeId' in servers ? servers.placeId : undefined;
    const reach = { placeId, excludedServerId: undefined, liveAt: now };
    const sent = await newCommands.insertForSeveral(transaction, sending, reach);
    return sent ?? full(`The guild has ${most} open commands for several servers, which is the maximum`);
  }

  /** Commands of a guild are sent one after another, so that a server's cursor passes over none. */
  #locked<Result>(guildId: string, work: (transaction: Queryable) => Promise<Result>): Promise<Result> {
    return this.#options.database.transaction(async (transaction) => {
      await lockGuilds(transaction, [guildId]);
      return work(transaction);
    });
  }

  #now(): Date {
    return new Date(this.#options.clock.now());
  }

  #sent(guildId: string, command: store.NewCommand, servers: number, actor: string | undefined): void {
    this.#options.events.commandSent(guildId, command, servers, actor);
    if (servers > 0) this.#options.notifier.notify(guildId);
  }
}

/** Of all that makes two requests the same. */
function requestHash({ servers, command, ttlSeconds }: Request): Buffer {
  const { type, target, payload } = command;
  const sent = [servers, type, target?.gameId, target?.gameUsername, payload, ttlSeconds];
  return createHash('sha256').update(JSON.stringify(sent)).digest();
}

function full(message: string): never {
  throw new ApiError('CONFLICT', { message });
}

function unknown(): never {
  throw new ApiError('NOT_FOUND', { message: 'No such command in this guild' });
}
