import { setTimeout as wait } from 'node:timers/promises';
import { Writer } from '../failure/writer.ts';

/** Guilds of the load: enough that no rate limit of a guild slows it down. */
export const GUILDS = Array.from({ length: 60 }, (_, index) => `90000000000000${index + 2000}`);

/** The number of guilds with bindings and webhooks. */
const SET_UP = 10;
const WRITERS = 6;
const WRITE_EVERY_MS = 40;
// As in the simulators' demo world.
const OFFICER = '910000000000000001';
const CREW = 501;
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
  token: (_guild: string, gameId: number): Request => ({
    path: '/verification/tokens',
    body: { chat_id: chatIdOf(gameId) },
  }),
  heartbeat: (_guild: string, gameId: number): Request => ({
    path: '/game/servers/heartbeat',
    body: { server_id: `server-${gameId % 5}`, place_id: PLACE, player_count: 1, max_players: 9 },
  }),
} as const;

type Kind = keyof typeof REQUESTS;

/** A write that was acknowledged. */
export interface Write {
  kind: Kind;
  guild: string;
  gameId: number;
  /** When the acknowledgement arrived, in milliseconds of `performance.now()`. */
  at: number;
}

export interface CommunityOptions {
  /** All kinds of writes by default. */
  kinds?: readonly Kind[];
  /** Whether a write that is not acknowledged is repeated until it is; true by default. */
  repeats?: boolean;
}

/** No account occurs twice, in whichever installation. */
let accounts = 1_000_000;

/** Game plugins and bots of some guilds, which write all the time. */
export class Community {
  readonly acknowledged: Write[] = [];
  /** Writes that failed, or got no response, and are not repeated. */
  failed = 0;
  readonly #writer: Writer;
  readonly #kinds: readonly Kind[];
  readonly #repeats: boolean;
  #stopped = new AbortController();
  #running: Promise<unknown> = Promise.resolve();

  constructor(api: string, keys: ReadonlyMap<string, string>, options: CommunityOptions = {}) {
    this.#writer = new Writer(api, keys);
    this.#kinds = options.kinds ?? (Object.keys(REQUESTS) as Kind[]);
    this.#repeats = options.repeats ?? true;
  }

  /** Creates what a guild sets up once; `receiver` gets its webhooks. */
  async prepare(receiver: string): Promise<void> {
    for (const guild of GUILDS.slice(0, SET_UP)) {
      await this.#writer.post(guild, '/bindings/add', {
        binding_type: 'group_rank',
        game_group_id: CREW,
        chat_role_id: OFFICER,
        min_rank: 50,
        max_rank: 255,
      });
      await this.#writer.post(guild, '/webhooks', { url: receiver, types: ['ban.*'] });
    }
  }

  start(): void {
    this.#stopped = new AbortController();
    this.#running = Promise.all(Array.from({ length: WRITERS }, (_, number) => this.#write(number)));
  }

  /** Waits for the writes in flight. */
  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.#running;
  }

  async #write(number: number): Promise<void> {
    const { signal } = this.#stopped;
    for (let turn = number; !signal.aborted; turn++) {
      const kind = this.#kinds[turn % this.#kinds.length] as Kind;
      const gameId = ++accounts;
      const guild = GUILDS[gameId % GUILDS.length] as string;
      const { path, body } = REQUESTS[kind](guild, gameId);
      const data = await (this.#repeats
        ? this.#writer.post(guild, path, body)
        : this.#writer.attempt(guild, path, body));
      if (data === undefined) this.failed++;
      else this.acknowledged.push({ kind, guild, gameId, at: performance.now() });
      await wait(WRITE_EVERY_MS);
    }
  }
}
