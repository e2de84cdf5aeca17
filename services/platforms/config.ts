import { z } from 'zod';
import { baseUrl, number, redisConfig, url } from '#kit/service/config.ts';
import { proxyUrl } from '#kit/service/network.ts';

const web = (fallback: string) => baseUrl('http', 'https').default(fallback);
/** Returns the schema of a credential that is sent unchanged in an HTTP header. */
const credential = () => z.string().regex(/^[\x21-\x7e]+$/, { error: 'must be printable ASCII without spaces' });

/** The number of processes that call the platforms, among which limits are divided while Redis is unavailable. */
const platformProcesses = () => number(2, 1, 1_000);

/** Configures Open Cloud, the game platform's API with keys. */
const openCloud = {
  /** The base URL of Open Cloud, and of game passes. */
  GAME_APIS_URL: web('https://apis.roblox.com'),
  /** The operator's key for Open Cloud. */
  GAME_API_KEY: credential().optional(),
};

/** Configures a process that calls nothing but Open Cloud, and only if there is a key. */
export const openCloudConfig = {
  ...openCloud,
  CHAT_PROCESSES: platformProcesses(),
  ...redisConfig,
};

export type OpenCloudConfig = z.output<z.ZodObject<typeof openCloudConfig>>;

/** Configures the game platform: base URLs of its hosts (or of a simulator), the operator's key and the rate limits. */
export const gamePlatformConfig = {
  GAME_USERS_URL: web('https://users.roblox.com'),
  GAME_GROUPS_URL: web('https://groups.roblox.com'),
  GAME_INVENTORY_URL: web('https://inventory.roblox.com'),
  GAME_BADGES_URL: web('https://badges.roblox.com'),
  GAME_ECONOMY_URL: web('https://economy.roblox.com'),
  /** Without GAME_API_KEY the anonymous endpoints are queried, one user per request. */
  ...openCloud,
  /** The maximum calls per second of all processes to the anonymous hosts, which publish no rate limits. */
  GAME_GLOBAL_RPS: number(20, 1, 1_000_000),
  /** The rate limits of Open Cloud per key owner, in calls per minute: for group memberships and for inventories. */
  GAME_MEMBERSHIPS_PER_MINUTE: number(300, 1, 1_000_000),
  GAME_INVENTORIES_PER_MINUTE: number(100, 1, 1_000_000),
};

export type GamePlatformConfig = z.output<z.ZodObject<typeof gamePlatformConfig>>;

/** Configures how the hosts of the platforms are reached. */
export const platformAccessConfig = {
  /** The URL of an HTTP proxy through which the platforms are called; it may have a user and a password. */
  PLATFORMS_PROXY: proxyUrl().optional(),
  /** A PEM file of CAs that are trusted for the platforms in addition to the public ones. */
  PLATFORMS_CA_FILE: z.string().optional(),
};

export type PlatformAccessConfig = z.output<z.ZodObject<typeof platformAccessConfig>>;

/** Configures the chat platform: its base URL, the bot's credentials and its rate limit. */
export const chatPlatformConfig = {
  CHAT_API_URL: web('https://discord.com/api/v10'),
  /** A web page about the operator of the bot; the chat platform requires one in User-Agent. */
  CHAT_BOT_URL: url('http', 'https').default('https://guild-data.example'),
  CHAT_BOT_TOKEN: z.string({ error: 'is required' }).pipe(credential()),
  /**
   * The maximum calls per second of all processes to the chat platform, which allows 50 per bot. Redis shares them
   * among the processes.
   */
  CHAT_GLOBAL_RPS: number(50, 1, 1_000_000),
  /**
   * The number of processes that call the platforms; each gets an equal share of the rate limits while Redis is
   * unavailable.
   */
  CHAT_PROCESSES: platformProcesses(),
  ...redisConfig,
};

export type ChatPlatformConfig = z.output<z.ZodObject<typeof chatPlatformConfig>>;
