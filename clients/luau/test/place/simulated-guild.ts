import { randomUUID } from 'node:crypto';
import type { EngineClock } from '../engine/clock.ts';

const MIN_INTERVAL = 15;
const SERVERS_PER_SECOND = 4;
const POLL_LEASE_SECONDS = 30;
const DEFAULT_TTL_SECONDS = 120;

// oxlint-disable-next-line typescript/no-explicit-any -- bodies differ by route
type Body = any;

interface Delivery {
  leasedUntil: number;
  attempt: number;
  status: string | undefined;
}

export interface SimulatedCommand {
  id: string;
  type: string;
  target: { game_id: number } | null;
  payload: Record<string, unknown>;
  createdAt: number;
  expiresAt: number;
  servers: Map<string, Delivery>;
}

interface Ban {
  id: number;
  game_id: number;
  reason: string;
  expires_at: null;
  place_id: null;
  changedAt: number;
}

/** The rules of the services that game servers depend on, in memory and in simulated time: what is in the contract. */
export class SimulatedGuild {
  readonly commands: SimulatedCommand[] = [];
  readonly bans = new Map<number, Ban>();
  /** Every delivery of an action, so that a test sees which arrived twice. */
  readonly actions = new Map<string, Body>();
  readonly #clock: EngineClock;
  /** Until when each server is live. */
  readonly #live = new Map<string, number>();
  readonly #waiting = new Map<string, () => void>();
  readonly #sessions = new Map<string, boolean>();

  constructor(clock: EngineClock) {
    this.#clock = clock;
  }

  get liveServers(): string[] {
    return [...this.#live].filter(([, until]) => until > this.#now()).map(([id]) => id);
  }

  /** Sends a command to all live servers. */
  send(fields: Partial<SimulatedCommand> & { ttl?: number } = {}): SimulatedCommand {
    const { ttl = Math.max(DEFAULT_TTL_SECONDS, 4 * this.interval), ...rest } = fields;
    const servers = new Map<string, Delivery>();
    for (const id of this.liveServers) servers.set(id, { leasedUntil: 0, attempt: 0, status: undefined });
    const command: SimulatedCommand = {
      id: randomUUID(),
      type: 'custom',
      target: null,
      payload: {},
      createdAt: this.#now(),
      expiresAt: this.#now() + ttl,
      servers,
      ...rest,
    };
    this.commands.push(command);
    for (const id of servers.keys()) this.#waiting.get(id)?.();
    return command;
  }

  /** Bans a player and tells the live servers. */
  ban(gameId: number): void {
    const changedAt = this.#now();
    const ban = {
      id: this.bans.size + 1,
      game_id: gameId,
      reason: 'spam',
      expires_at: null,
      place_id: null,
      changedAt,
    };
    this.bans.set(gameId, ban);
    this.send({ type: 'ban', target: { game_id: gameId }, payload: { id: ban.id, reason: 'spam' } });
  }

  get interval(): number {
    return Math.min(300, Math.max(MIN_INTERVAL, Math.ceil(this.liveServers.length / SERVERS_PER_SECOND)));
  }

  /** The data of a response, by the name of the route; undefined if there is no such thing. */
  async answer(name: string, path: string[], query: URLSearchParams, body: Body): Promise<object | undefined> {
    switch (name) {
      case 'beatServer':
        return this.#heartbeat(body);
      case 'pollCommands':
        return await this.#poll(path[2] as string, Number(query.get('wait') ?? 0));
      case 'acknowledgeCommand':
        return this.#acknowledge(path[2] as string, { command_id: path[4], ...body });
      case 'getGameStatuses':
        return { results: Object.fromEntries(body.game_ids.map((id: number) => [id, this.#statusOf(id)])) };
      case 'listActiveBans':
        return this.#listBans(query.get('updated_since'));
      case 'logAction':
        this.actions.set(body.action_id, body);
        return { id: body.action_id };
      case 'getLinkStatuses':
        return { results: Object.fromEntries(body.game_ids.map((id: number) => [id, null])) };
      default:
        return this.#staff(name, body);
    }
  }

  #staff(name: string, body: Body): object | undefined {
    if (name === 'startSession') {
      const id = randomUUID();
      this.#sessions.set(id, true);
      return { session_id: id, started_at: this.#now(), resumed: false };
    }
    if (name === 'endSession') {
      return this.#sessions.delete(body.session_id) ? { session_id: body.session_id } : undefined;
    }
    if (name === 'beatSessions') {
      const ids = (body.sessions as { session_id: string }[]).map(({ session_id }) => session_id);
      const isOpen = (id: string) => this.#sessions.has(id);
      return { active: ids.filter(isOpen), stale: ids.filter((id) => !isOpen(id)) };
    }
    return undefined;
  }

  #heartbeat(body: Body): object {
    const id: string = body.server_id;
    for (const ack of body.acks) this.#acknowledge(id, ack);
    if (body.final) this.#live.delete(id);
    else this.#live.set(id, this.#now() + 3 * this.interval);
    const lease = Math.max(POLL_LEASE_SECONDS, 2 * this.interval);
    const commands = body.final ? [] : this.#lease(id, lease);
    return { server_time: Math.floor(this.#now()), next_heartbeat_seconds: this.interval, commands };
  }

  async #poll(id: string, wait: number): Promise<object> {
    if (!this.#hasQueued(id) && wait > 0) {
      await new Promise<void>((resolve) => {
        const cancel = this.#clock.schedule(this.#clock.now() + wait * 1000, resolve);
        this.#waiting.set(id, () => {
          cancel();
          resolve();
        });
      });
      this.#waiting.delete(id);
    }
    return { commands: this.#lease(id, POLL_LEASE_SECONDS), poll_after_seconds: this.interval };
  }

  #hasQueued(id: string): boolean {
    return this.commands.some((command) => this.#isDue(command, id));
  }

  #isDue(command: SimulatedCommand, id: string): boolean {
    const delivery = command.servers.get(id);
    const isOpen = delivery !== undefined && delivery.status === undefined && command.expiresAt > this.#now();
    return isOpen && delivery.leasedUntil <= this.#now();
  }

  #lease(id: string, seconds: number): object[] {
    const due = this.commands.filter((command) => this.#isDue(command, id)).slice(0, 20);
    return due.map((command) => {
      const delivery = command.servers.get(id) as Delivery;
      delivery.leasedUntil = this.#now() + seconds;
      delivery.attempt++;
      return {
        command_id: command.id,
        type: command.type,
        target: command.target,
        payload: command.payload,
        issued_by: null,
        attempt: delivery.attempt,
        created_at: Math.floor(command.createdAt),
        expires_at: Math.floor(command.expiresAt),
        lease_expires_at: Math.floor(delivery.leasedUntil),
      };
    });
  }

  #acknowledge(serverId: string, { command_id, status }: Body): object | undefined {
    const delivery = this.commands.find(({ id }) => id === command_id)?.servers.get(serverId);
    if (!delivery) return undefined;
    delivery.status ??= status;
    return { command_id, status, acked_at: Math.floor(this.#now()) };
  }

  #statusOf(gameId: number): object {
    const ban = this.bans.get(gameId);
    return { banned: ban !== undefined, ban_info: ban ?? null, muted: false, mute_info: null, flagged: false };
  }

  #listBans(since: string | null): object {
    const bans = [...this.bans.values()].filter(({ changedAt }) => since === null || changedAt >= Number(since));
    const lifted = since === null ? {} : { lifted: [] };
    return { bans, ...lifted, server_time: Math.floor(this.#now()) - 1, next_cursor: null };
  }

  #now(): number {
    return this.#clock.now() / 1000;
  }
}
