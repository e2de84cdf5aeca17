import { type Clock, unixSeconds } from '#kit/clock.ts';
import { dailyLimitReached } from '#kit/daily-limit.ts';
import { ApiError } from '#kit/errors.ts';
import { currentEventSource } from '#kit/events/source.ts';
import { type HandlerResult, ok } from '#kit/http/envelope.ts';
import type { Idempotency, IdempotentWrite, WriteOutcome } from '#kit/postgres/idempotency/idempotency.ts';
import type { Database, Transaction } from '#kit/postgres/pool.ts';
import * as records from '../store/command-records.ts';
import * as store from '../store/commands.ts';
import { addToDay, addToDays } from '../store/daily-counts.ts';
import { lockGuilds } from '../store/guilds.ts';
import * as newCommands from '../store/new-commands.ts';
import { isStoredServer, serverKey } from '../store/servers.ts';
import type { ActivityTelemetry } from '../telemetry.ts';
import { commandCancelled, commandSent } from './audited-commands.ts';
import type { CommandReports } from './command-reports.ts';
import { type CommandRequest, type Decision, type Recipients, requestHash } from './command-request.ts';

/**
 * The maximum number of servers that the shared commands of a guild may be for on a day (UTC), together: each server that
 * fetches a command adds a row, which is stored for a week after the command is finished.
 */
export const MAX_DELIVERIES_PER_DAY = 5_000_000;

export interface CommandsOptions {
  database: Database;
  idempotency: Idempotency;
  clock: Clock;
  telemetry: ActivityTelemetry;
  reports: CommandReports;
  /** Called after a command for live servers was committed, so that the servers fetch it now. */
  announce: (guildId: string, recipients: Recipients) => void;
}

/** The response to a request that sends a command. */
export interface SentView {
  command_id: string;
  servers: number;
  expires_at: number;
}

export interface AcknowledgedView {
  command_id: string;
  status: store.AckStatus;
  acked_at: number;
}

/** Sends commands to game servers, and stores the servers' acknowledgements. */
export class Commands {
  readonly #options: CommandsOptions;

  constructor(options: CommandsOptions) {
    this.#options = options;
  }

  /**
   * Sends a command to a named game server (live or not), or to every live server of a place or of the guild. Throws
   * CONFLICT if too many commands are open already, if commands of the day were for too many servers, or if the
   * idempotency key was used for another command. `actor` is the operator.
   */
  async enqueue(request: CommandRequest, actor: string): Promise<newCommands.SentCommand> {
    const { guildId, idempotencyKey: key } = request;
    const hash = requestHash(request);
    const { sent, isNew } = await this.#withGuildLock(guildId, async (transaction) => {
      const earlier = key === undefined ? undefined : await newCommands.findRequest(transaction, guildId, key);
      if (earlier && !earlier.hash.equals(hash)) {
        throw new ApiError('CONFLICT', { message: 'This idempotency key was used for another command' });
      }
      if (earlier) return { sent: earlier, isNew: false };
      return { sent: await this.#insert(transaction, { ...request, hash }), isNew: true };
    });
    if (isNew) this.#afterSend(request, sent.servers, actor);
    return sent;
  }

  /**
   * Sends a command like `enqueue`, for a client of the REST API. Throws NOT_FOUND if the command is for a named server
   * that is not stored, CONFLICT if too many commands are open already, or if commands of the day were for too many
   * servers. `actor` is the prefix of the API key.
   */
  async send(write: IdempotentWrite, request: CommandRequest, actor: string): Promise<WriteOutcome<SentView>> {
    const { guildId, recipients } = request;
    let servers: number | undefined;
    const outcome = await this.#options.idempotency.inTransaction(write, async (transaction) => {
      if ('serverId' in recipients && !(await isStoredServer(transaction, guildId, recipients.serverId))) {
        throw new ApiError('NOT_FOUND', { message: 'No such server in this guild' });
      }
      await lockGuilds(transaction, [guildId]);
      const sent = await this.#insert(transaction, request);
      servers = sent.servers;
      await this.#options.reports.audit(transaction, commandSent(request, sent));
      return ok({ command_id: sent.commandId, servers: sent.servers, expires_at: unixSeconds(sent.expiresAt) });
    });
    if (servers !== undefined) this.#afterSend(request, servers, actor);
    return outcome;
  }

  /**
   * Sends the command of a moderation decision to the servers that were live at the time of the decision or have become
   * live since: while the activity service is down, no server can prove that it is live. A repeated call sends nothing.
   * Returns the number of servers that the command is for.
   */
  async deliver(guildId: string, decision: Decision, command: store.NewCommand): Promise<number> {
    const now = this.#now();
    const { servers, isNew } = await this.#withGuildLock(guildId, async (transaction) => {
      const earlier = await newCommands.findDecision(transaction, guildId, decision.eventId);
      if (earlier !== undefined) return { servers: earlier, isNew: false };
      if (decision.expiresAt && decision.expiresAt <= now) return { servers: 0, isNew: false };
      await newCommands.expireOldest(transaction, guildId, now);
      const outgoing = {
        guildId,
        command,
        key: { eventId: decision.eventId },
        lifetime: { ttlSeconds: undefined, notAfter: decision.expiresAt },
        now,
      };
      const liveAt = decision.decidedAt < now ? decision.decidedAt : now;
      const audience = { placeId: decision.placeId, excludedServerId: decision.sourceServerId, liveAt };
      const sent = await newCommands.insertSharedCommand(transaction, outgoing, audience);
      if (sent) await this.#reportEmpty(transaction, guildId, sent);
      // A decision counts, but is sent whatever the count is: moderation has accepted it already.
      if (sent?.servers) await addToDays(transaction, [{ guildId, added: sent.servers }], 'deliveries', now);
      return { servers: sent?.servers ?? 0, isNew: sent !== undefined };
    });
    const recipients = decision.placeId === undefined ? { all: true as const } : { placeId: decision.placeId };
    if (isNew) this.#afterSend({ guildId, recipients, command }, servers, undefined);
    return servers;
  }

  /**
   * Acknowledges a command for a game server. Throws NOT_FOUND if the server has no such command, CONFLICT if the
   * server acknowledged the command with another status before.
   */
  async acknowledge(write: IdempotentWrite, ack: store.Ack): Promise<WriteOutcome<AcknowledgedView>> {
    const { idempotency, telemetry, reports } = this.#options;
    let isNew = false;
    const outcome = await idempotency.inTransaction(
      write,
      async (transaction): Promise<HandlerResult<AcknowledgedView>> => {
        const now = this.#now();
        const acked = await store.ackCommands(transaction, [ack], now);
        isNew = acked.length > 0;
        const found = await store.findAck(transaction, ack);
        if (!found) throw new ApiError('NOT_FOUND', { message: 'No such command for this server' });
        const { status, ackedAt } = found;
        if (status !== ack.status) {
          throw new ApiError('CONFLICT', { message: `The command was acknowledged as ${status}` });
        }
        const source = currentEventSource();
        const finished = acked.filter(({ isFinished }) => isFinished).map((command) => ({ ...command, source }));
        await reports.record(transaction, finished, now);
        return ok({ command_id: ack.commandId, status, acked_at: unixSeconds(ackedAt) });
      },
    );
    if (isNew) telemetry.commandAcknowledged(ack);
    return outcome;
  }

  /**
   * Stores acknowledgements that heartbeats contain. Ignores acknowledgements of unknown commands and of commands that
   * were acknowledged before.
   */
  async acknowledgeAll(acks: readonly store.Ack[]): Promise<void> {
    if (acks.length === 0) return;
    // If a server acknowledges a command several times, the first acknowledgement counts. Each server acknowledges a
    // shared command separately.
    const keyOf = (ack: Pick<store.Ack, 'guildId' | 'serverId' | 'commandId'>) => `${serverKey(ack)} ${ack.commandId}`;
    const first = new Map(acks.toReversed().map((ack) => [keyOf(ack), ack]));
    const { database, telemetry, reports } = this.#options;
    const acked = await database.transaction(async (transaction) => {
      const now = this.#now();
      const commands = await store.ackCommands(transaction, [...first.values()], now);
      const finished = commands.filter(({ isFinished }) => isFinished);
      await reports.record(
        transaction,
        finished.map((command) => ({ ...command, source: first.get(keyOf(command))?.source })),
        now,
      );
      return commands;
    });
    for (const command of acked) telemetry.commandAcknowledged(first.get(keyOf(command)) as store.Ack);
  }

  /**
   * Cancels a command for the game servers that did not receive it yet, and returns their number. Throws NOT_FOUND if
   * the guild has no such command. `actor` is the operator.
   */
  async cancel(guildId: string, commandId: string, actor: string): Promise<number> {
    const { database, telemetry } = this.#options;
    const cancelled = await database.transaction((transaction) => this.#cancel(transaction, guildId, commandId));
    if (cancelled > 0) telemetry.commandCancelled(guildId, commandId, cancelled, actor);
    return cancelled;
  }

  /** Cancels a command like `cancel`, for a client of the REST API. `actor` is the prefix of the API key. */
  async cancelRequested(
    write: IdempotentWrite,
    commandId: string,
    actor: string,
  ): Promise<WriteOutcome<{ cancelled: number }>> {
    const { idempotency, telemetry } = this.#options;
    let cancelled = 0;
    const outcome = await idempotency.inTransaction(write, async (transaction) => {
      cancelled = await this.#cancel(transaction, write.guildId, commandId);
      if (cancelled > 0) await this.#options.reports.audit(transaction, commandCancelled(write, commandId, cancelled));
      return ok({ cancelled });
    });
    if (cancelled > 0) telemetry.commandCancelled(write.guildId, commandId, cancelled, actor);
    return outcome;
  }

  async #cancel(transaction: Transaction, guildId: string, commandId: string): Promise<number> {
    const now = this.#now();
    const servers = (await records.cancelCommand(transaction, guildId, commandId, now)) ?? commandNotFound();
    const source = currentEventSource();
    if (servers > 0) await this.#options.reports.record(transaction, [{ guildId, commandId, source }], now);
    return servers;
  }

  async #insert(
    transaction: Transaction,
    { guildId, recipients, command, ttlSeconds, idempotencyKey: key, hash }: CommandRequest & { hash?: Buffer },
  ): Promise<newCommands.SentCommand> {
    const now = this.#now();
    const outgoing = {
      guildId,
      command,
      key: key === undefined || !hash ? {} : { request: { key, hash } },
      lifetime: { ttlSeconds, notAfter: undefined },
      now,
    };
    const max = newCommands.MAX_OPEN_COMMANDS;
    if ('serverId' in recipients) {
      const sent = await newCommands.insertServerCommand(transaction, outgoing, recipients.serverId);
      return sent ?? queueFull(`The server has ${max} commands waiting, which is the maximum`);
    }
    const placeId = 'placeId' in recipients ? recipients.placeId : undefined;
    const audience = { placeId, excludedServerId: undefined, liveAt: now };
    const sent = await newCommands.insertSharedCommand(transaction, outgoing, audience);
    if (!sent) return queueFull(`The guild has ${max} open commands for several servers, which is the maximum`);
    await this.#reportEmpty(transaction, guildId, sent);
    if (sent.servers > 0) await this.#addToDailyCount(transaction, guildId, sent.servers);
    return sent;
  }

  async #addToDailyCount(transaction: Transaction, guildId: string, servers: number): Promise<void> {
    const now = this.#now();
    if (await addToDay(transaction, guildId, 'deliveries', MAX_DELIVERIES_PER_DAY, now, servers)) return;
    const message = `The guild may send commands to ${MAX_DELIVERIES_PER_DAY} servers a day (UTC), counted once per command`;
    throw dailyLimitReached(message, now.getTime());
  }

  /** Reports a command as finished if it is for no server: none has to acknowledge it. */
  async #reportEmpty(
    transaction: Transaction,
    guildId: string,
    { commandId, servers }: newCommands.SentCommand,
  ): Promise<void> {
    if (servers > 0) return;
    const source = currentEventSource();
    await this.#options.reports.record(transaction, [{ guildId, commandId, source }], this.#now());
  }

  /**
   * Runs `work` under the guild's lock: the commands of a guild are sent one after another, so that the cursor of a
   * server never skips a command.
   */
  #withGuildLock<Result>(guildId: string, work: (transaction: Transaction) => Promise<Result>): Promise<Result> {
    return this.#options.database.transaction(async (transaction) => {
      await lockGuilds(transaction, [guildId]);
      return work(transaction);
    });
  }

  #now(): Date {
    return new Date(this.#options.clock.now());
  }

  #afterSend(
    { guildId, recipients, command }: Pick<CommandRequest, 'guildId' | 'recipients' | 'command'>,
    servers: number,
    actor: string | undefined,
  ): void {
    this.#options.telemetry.commandSent(guildId, command, servers, actor);
    if (servers > 0) this.#options.announce(guildId, recipients);
  }
}

function queueFull(message: string): never {
  throw new ApiError('CONFLICT', { message });
}

export function commandNotFound(): never {
  throw new ApiError('NOT_FOUND', { message: 'No such command in this guild' });
}
