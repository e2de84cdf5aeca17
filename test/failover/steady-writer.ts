import { randomUUID } from 'node:crypto';
import { setInterval as every } from 'node:timers/promises';
import { Writer } from '../failure/writer.ts';

/** The pause in milliseconds between two writes, so that 50 begin in a second. */
const WRITE_EVERY_MS = 20;
/**
 * So many guilds, and pauses so long, that none reaches its rate limit of 50 writes a minute, although clients repeat
 * every open write while the database is down for 22 s of each half minute. Their number has no common
 * divisor with that of the kinds of writes, so that each guild gets all kinds in turn.
 */
export const GUILDS = Array.from({ length: 481 }, (_, index) => `90000000000000${index + 2000}`);
const MAX_PAUSE_MS = 2_000;
/** While so many writes are not acknowledged yet, no further ones begin. */
const MAX_OPEN = 150;
const PLACE = 40001;

interface Request {
  path: string;
  body: object;
}

const chatIdOf = (gameId: number) => `93000000000${gameId}`;

const REQUESTS = {
  link: (_guild: string, gameId: number): Request => ({
    path: '/verification/link',
    body: { chat_id: chatIdOf(gameId), game_id: gameId, game_username: 'Player' },
  }),
  ban: (guild: string, gameId: number): Request => ({
    path: `/moderation/${guild}/game/ban`,
    body: { game_id: gameId, reason: 'Cheats' },
  }),
  action: (_guild: string, gameId: number): Request => ({
    path: '/staff/game/action',
    body: { actor_game_id: gameId, action_type: 'kick', action_id: randomUUID() },
  }),
  heartbeat: (_guild: string, gameId: number): Request => ({
    path: '/game/servers/heartbeat',
    body: { server_id: `server-${gameId % 5}`, place_id: PLACE, player_count: 1, max_players: 9 },
  }),
} as const;

export type Kind = keyof typeof REQUESTS;
const KINDS = Object.keys(REQUESTS) as Kind[];

/** A write that was acknowledged. */
export interface AcknowledgedWrite {
  kind: Kind;
  guild: string;
  gameId: number;
  /** Its Idempotency-Key. */
  key: string;
  /** When the acknowledgement arrived, in milliseconds of `performance.now()`. */
  at: number;
}

/** No account occurs twice. */
let accounts = 1_000_000;

/** Clients that begin 50 writes in a second, and repeat each with its Idempotency-Key until it is acknowledged. */
export class SteadyWriter {
  readonly acknowledged: AcknowledgedWrite[] = [];
  readonly #writer: Writer;
  readonly #open = new Set<Promise<void>>();
  readonly #stopped = new AbortController();
  #running: Promise<void> = Promise.resolve();
  /** Rejected writes: none is expected, because each account is used once. */
  readonly faults: unknown[] = [];

  constructor(api: string, keys: ReadonlyMap<string, string>) {
    this.#writer = new Writer(api, keys, { maxPauseMs: MAX_PAUSE_MS });
  }

  /** Attempts that were repeated. */
  get repeats(): number {
    return this.#writer.repeats;
  }

  /** Those of them that a rate limit rejected. */
  get limited(): number {
    return this.#writer.limited;
  }

  /** The number of repeated attempts with each status code; 0 stands for no response. */
  get repeatedStatuses(): ReadonlyMap<number, number> {
    return this.#writer.repeatedStatuses;
  }

  start(): void {
    this.#running = this.#run();
  }

  /** Waits until each write that has begun is acknowledged. */
  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.#running;
    await Promise.all(this.#open);
  }

  /**
   * When a write of each kind was acknowledged for the first time after a moment; undefined if one was not yet. Throws if a
   * write was rejected.
   */
  allKindsAt(after: number): number | undefined {
    if (this.faults.length > 0) throw this.faults[0];
    const first = KINDS.map((kind) => this.acknowledged.find((write) => write.kind === kind && write.at > after));
    return first.includes(undefined) ? undefined : Math.max(...first.map((write) => write?.at ?? 0));
  }

  async #run(): Promise<void> {
    let turn = 0;
    try {
      for await (const _ of every(WRITE_EVERY_MS, undefined, { signal: this.#stopped.signal })) {
        if (this.#open.size < MAX_OPEN) this.#begin(turn++);
      }
    } catch {
      // It was stopped.
    }
  }

  #begin(turn: number): void {
    const writing = this.#write(KINDS[turn % KINDS.length] as Kind)
      .catch((error: unknown) => void this.faults.push(error))
      .finally(() => this.#open.delete(writing));
    this.#open.add(writing);
  }

  async #write(kind: Kind): Promise<void> {
    const gameId = ++accounts;
    const guild = GUILDS[gameId % GUILDS.length] as string;
    const { path, body } = REQUESTS[kind](guild, gameId);
    const key = randomUUID();
    await this.#writer.post(guild, path, body, key);
    this.acknowledged.push({ kind, guild, gameId, key, at: performance.now() });
  }
}
