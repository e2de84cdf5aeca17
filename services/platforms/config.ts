import { z } from 'zod';
import { baseUrl, number, redisConfig, url } from '#kit/service/config.ts';

const web = (fallback: string) => baseUrl('http', 'https').default(fallback);
/** Goes into a header as it stands. */
const credential = () => z.string().regex(/^[\x21-\x7e]+$/, { error: 'must be printable ASCII without spaces' });

/** Where the game platform is: its own addresses, or those of a simulator. */
export const gamePlatformConfig = {
  GAME_USERS_URL: web('https://users.roblox.com'),
  GAME_GROUPS_URL: web('https://groups.roblox.com'),
  GAME_INVENTORY_URL: web('https://inventory.roblox.com'),
  GAME_BADGES_URL: web('https://badges.roblox.com'),
  GAME_ECONOMY_URL: web('https://economy.roblox.com'),
  /** Open Cloud and the game passes. */
  GAME_APIS_URL: web('https://apis.roblox.com'),
  /** The operator's own key for Open Cloud; without it the anonymous endpoints are asked, user by user. */
  GAME_API_KEY: credential().optional(),
  /** Calls a second of all processes together to the anonymous hosts, which publish no limits. */
  GAME_GLOBAL_RPS: number(20, 1, 1_000_000),
  /** Calls a minute that Open Cloud grants to the owner of a key: for ranks, and for what users own. */
  GAME_MEMBERSHIPS_PER_MINUTE: number(300, 1, 1_000_000),
  GAME_INVENTORIES_PER_MINUTE: number(100, 1, 1_000_000),
};

export type GamePlatformConfig = z.output<z.ZodObject<typeof gamePlatformConfig>>;

/** Where the chat platform is, and as which bot we speak to it. */
export const chatPlatformConfig = {
  CHAT_API_URL: web('https://discord.com/api/v10'),
  /** A page about whoever runs the bot; the platform wants one in User-Agent. */
  CHAT_BOT_URL: url('http', 'https').default('https://guild-data.example'),
  CHAT_BOT_TOKEN: z.string({ error: 'is required' }).pipe(credential()),
  /** Calls a second that the platform lets a bot make: of all processes together, parted by Redis. */
  CHAT_GLOBAL_RPS: number(50, 1, 1_000_000),
  /** How many processes call the platforms: among so many the calls are divided while Redis is away. */
  CHAT_PROCESSES: number(2, 1, 1_000),
  ...redisConfig,
};

export type ChatPlatformConfig = z.output<z.ZodObject<typeof chatPlatformConfig>>;
