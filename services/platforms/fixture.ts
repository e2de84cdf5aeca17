import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type Logger, pino } from 'pino';
import { ManualClock } from '#kit/clock.ts';
import type { RedisClient } from '#kit/redis/client.ts';
import { Breakers } from '#kit/resilience/breaker.ts';
import { addressOf, listen } from '#kit/service/address.ts';
import { Metrics } from '#kit/telemetry/metrics.ts';
import { type SimulatorOptions, type Simulators, startSimulators } from '#local/simulators/main.ts';
import { World } from '#local/simulators/world.ts';
import { SharedRedis } from './budget/shared-redis.ts';
import { type ChatPlatformConfig, type GamePlatformConfig, gamePlatformConfig } from './config.ts';
import { Discord } from './discord/discord.ts';
import { DiscordOAuth, type DiscordOAuthConfig } from './discord/oauth.ts';
import type { PlatformOptions } from './http/host.ts';
import { openRestrictions } from './roblox/restriction-host.ts';
import type { Restrictions } from './roblox/restrictions.ts';
import { Roblox } from './roblox/roblox.ts';

/** The deadline of calls in tests, long enough for a machine that stalls for a while. */
const DEADLINE_MS = 10_000;
const SHORT_MS = 500;
/** A rate limit that no test reaches. */
const PLENTY = 100_000;

/**
 * Returns the deadline of calls into which this fault is injected. It is short for delayed responses, so that no test
 * waits for long.
 */
export const deadlineFor = (fault: Record<string, unknown>) => ('delay_ms' in fault ? SHORT_MS : DEADLINE_MS);

/** Controls one simulated platform. */
export class Platform {
  readonly url: string;

  constructor(url: string) {
    this.url = url;
  }

  /** Injects a fault into the calls whose path contains `match`. */
  async fault(match: string, fault: Record<string, unknown>): Promise<void> {
    const response = await this.#control('POST', '/__faults', { match, ...fault });
    if (response.status !== 201) throw new Error(await response.text());
  }

  /** Returns the number of calls to each route of the simulated platform. */
  async calls(): Promise<Record<string, number>> {
    const response = await this.#control('GET', '/__calls');
    return ((await response.json()) as { calls: Record<string, number> }).calls;
  }

  async putWorld(world: unknown): Promise<void> {
    const response = await this.#control('PUT', '/__world', world);
    if (response.status !== 204) throw new Error(await response.text());
  }

  /** Removes all faults and resets the numbers of calls. */
  async forget(): Promise<void> {
    await this.#control('DELETE', '/__faults');
    await this.#control('DELETE', '/__calls');
  }

  #control(method: string, path: string, body?: unknown): Promise<Response> {
    return fetch(this.url + path, { method, body: body === undefined ? null : JSON.stringify(body) });
  }
}

/** Runs both simulated platforms, and creates connectors (the clients of the platforms) to them. */
export class PlatformsFixture {
  readonly clock = new ManualClock();
  readonly metrics = new Metrics();
  readonly logLines: string[] = [];
  /** The deadline of each call that a connector makes; applies to connectors that are created after it was set. */
  deadlineMs = DEADLINE_MS;
  /** The Redis that connectors use; applies to connectors that are created after it was set. */
  redis: RedisClient | undefined;
  processes = 1;
  readonly game: Platform;
  readonly chat: Platform;
  readonly #simulators: Simulators;
  readonly #cleanups: (() => void)[] = [];

  constructor(simulators: Simulators) {
    this.#simulators = simulators;
    this.game = new Platform(simulators.game);
    this.chat = new Platform(simulators.chat);
  }

  /**
   * Starts the simulated platforms. `world` holds the users, groups and roles that they return, in the format of the
   * simulators' data file; by default they return the data of the demo.
   */
  static async start({ world, ...options }: Omit<SimulatorOptions, 'world'> & { world?: unknown } = {}) {
    const given = world === undefined ? options : { ...options, world: new World(world) };
    return new PlatformsFixture(await startSimulators(given));
  }

  async stop(): Promise<void> {
    for (const cleanup of this.#cleanups) cleanup();
    await this.#simulators.stop();
  }

  /** Creates a connector to the simulated game platform, with empty caches and closed circuit breakers. */
  roblox(config: Partial<GamePlatformConfig> = {}): Roblox {
    return new Roblox({ config: { ...gameConfig(this.game.url), ...config }, ...this.#options() });
  }

  /** Creates a connector to the simulated game platform with a key for Open Cloud. */
  robloxWithKey(config: Partial<GamePlatformConfig> = {}): Roblox {
    return this.roblox({ GAME_API_KEY: 'test-game-key', ...config });
  }

  /** Creates a client of the simulated game platform's user restrictions. */
  restrictions(): Restrictions {
    const config = {
      GAME_APIS_URL: this.game.url,
      CHAT_PROCESSES: 1,
      REDIS_URL: undefined,
      REDIS_TLS_CA_FILE: undefined,
    };
    return openRestrictions({ config, key: 'test-game-key', ...this.#options() });
  }

  discord(config: Partial<ChatPlatformConfig> = {}): Discord {
    const own = {
      CHAT_API_URL: `${this.chat.url}/api/v10`,
      CHAT_BOT_TOKEN: 'token',
      CHAT_BOT_URL: 'https://bot.example',
      CHAT_GLOBAL_RPS: 100_000,
      CHAT_PROCESSES: 1,
    };
    return new Discord({ config: { ...own, ...config }, log: this.#log(), ...this.#options() });
  }

  /** Creates a client with which persons sign in at the simulated chat platform. */
  discordOAuth(redirectUri: string, config: Partial<DiscordOAuthConfig> = {}): DiscordOAuth {
    const own = {
      CHAT_API_URL: `${this.chat.url}/api/v10`,
      CHAT_OAUTH_AUTHORIZE_URL: `${this.chat.url}/oauth2/authorize`,
      CHAT_OAUTH_CLIENT_ID: '940000000000000001',
      CHAT_OAUTH_CLIENT_SECRET: 'chat-client-secret',
    };
    return new DiscordOAuth({ config: { ...own, ...config }, redirectUri, ...this.#options() });
  }

  #log(): Logger {
    return pino({ level: 'info' }, { write: (line) => this.logLines.push(line) });
  }

  #options(): PlatformOptions & { shared: SharedRedis } {
    const breakers = new Breakers(this.metrics);
    this.#cleanups.push(() => breakers.stop());
    const { redis, processes } = this;
    const shared = new SharedRedis({ redis, processes, breakers, log: this.#log() });
    return { shared, breakers, metrics: this.metrics, clock: this.clock, deadlineMs: this.deadlineMs };
  }

  /** Starts an HTTP server that sends responses which the simulators cannot send; returns its base URL. */
  async serve(respond: (path: string, response: ServerResponse, request: IncomingMessage) => void): Promise<string> {
    const server = createServer((request, response) => respond(request.url ?? '', response, request));
    await listen(server, '127.0.0.1', 0);
    this.#cleanups.push(() => {
      server.closeAllConnections();
      server.close();
    });
    return `http://${addressOf(server)}`;
  }
}

/** Returns a configuration with all hosts of the game platform at one URL, without a key. */
export function gameConfig(url: string): GamePlatformConfig {
  const hosts = Object.keys(gamePlatformConfig).filter((name) => name.endsWith('_URL'));
  const urls = Object.fromEntries(hosts.map((name) => [name, url]));
  const budgets = { GAME_GLOBAL_RPS: PLENTY, GAME_MEMBERSHIPS_PER_MINUTE: PLENTY, GAME_INVENTORIES_PER_MINUTE: PLENTY };
  return { ...urls, ...budgets } as GamePlatformConfig;
}

export interface CrewOptions {
  users: number;
  /** The number of groups of each user. */
  groups?: number;
  /** The ranks that each user has in each group. */
  ranks?: number[];
}

/**
 * Returns data for the simulated game platform: users 1, 2, …, each a member of the groups 101, 102, …, which have
 * roles of the ranks 1, 10, 100 and 255.
 */
export function crewWorld({ users, groups = 1, ranks = [10] }: CrewOptions) {
  const groupIds = Array.from({ length: groups }, (_, index) => 101 + index);
  const roles = (group: number) =>
    [1, 10, 100, 255].map((rank) => ({ id: group * 1000 + rank, name: `${rank}`, rank }));
  return {
    game: {
      groups: groupIds.map((id) => ({ id, name: `Group ${id}`, roles: roles(id) })),
      users: Array.from({ length: users }, (_, index) => ({
        id: index + 1,
        name: `User${index + 1}`,
        groups: groupIds.map((group_id) => ({ group_id, ranks })),
      })),
    },
  };
}
