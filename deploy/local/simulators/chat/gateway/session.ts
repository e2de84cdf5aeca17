import { randomBytes } from 'node:crypto';
import type { GuildEvent } from '../events.ts';

const MAX_BUFFERED = 10_000;

export const GUILDS: number = 1 << 0;
export const GUILD_MEMBERS: number = 1 << 1;

export type Dispatch = { op: 0; t: string; s: number; d: object };
/** `[ID, number of shards]`. */
export type Shard = readonly [number, number];

/** What a session needs of its connection. */
export interface Receiver {
  send: (payload: object) => void;
  cut: () => void;
}

/** True if a guild belongs to a shard. */
export function isOfShard(guildId: string, [id, count]: Shard): boolean {
  return Number((BigInt(guildId) >> 22n) % BigInt(count)) === id;
}

/** What one client identified for. It numbers its events and keeps the latest, so that a resumed session misses none. */
export class Session {
  readonly id = randomBytes(16).toString('hex');
  readonly shard: Shard;
  readonly intents: number;
  receiver: Receiver | undefined;
  /** When the connection was lost; undefined while there is one. */
  detachedAt: number | undefined;
  #seq = 0;
  #buffer: Dispatch[] = [];

  constructor(shard: Shard, intents: number) {
    this.shard = shard;
    this.intents = intents;
  }

  get seq(): number {
    return this.#seq;
  }

  /** Sends an event and keeps it. */
  dispatch(type: string, data: object): void {
    this.#seq += 1;
    const event: Dispatch = { op: 0, t: type, s: this.#seq, d: data };
    this.#buffer.push(event);
    if (this.#buffer.length > MAX_BUFFERED) this.#buffer.shift();
    this.receiver?.send(event);
  }

  /** Sends an event of a guild if it is of this shard and the client asked for such events. */
  report({ type, guildId, data }: GuildEvent): void {
    const intent = type.startsWith('GUILD_MEMBER_') ? GUILD_MEMBERS : GUILDS;
    if ((this.intents & intent) !== 0 && isOfShard(guildId, this.shard)) this.dispatch(type, data);
  }

  /** The events after a number; undefined if some of them are no longer kept. */
  after(seq: number): Dispatch[] | undefined {
    const missed = this.#seq - seq;
    if (missed > this.#buffer.length) return undefined;
    return missed === 0 ? [] : this.#buffer.slice(-missed);
  }
}
