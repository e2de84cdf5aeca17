import { url } from '#kit/config.ts';

/** Where the game platform is: its own addresses, or those of a simulator. */
export const gamePlatformConfig = {
  GAME_USERS_URL: url('http', 'https').default('https://users.roblox.com'),
};
