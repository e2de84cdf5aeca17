import type { LoadRequest } from './load.ts';

let players = 1_000_000;
/** For a guild without any data. */
const newPlayer = () => ++players;

const HEARTBEAT = { server_id: 'server', place_id: 40001, player_count: 1, max_players: 30 };
const newBan = () => ({ game_id: newPlayer(), reason: 'Cheats' });
const newLink = () => {
  const gameId = newPlayer();
  return { chat_id: `93000000000${gameId}`, game_id: gameId, game_username: 'Player' };
};

const REQUESTS: ((guild: string) => Omit<LoadRequest, 'key' | 'guild'>)[] = [
  () => ({ name: 'whoami', method: 'GET', path: '/whoami', status: 200 }),
  () => ({ name: 'lookup', method: 'GET', path: `/lookup/game/${newPlayer()}`, status: 404 }),
  () => ({ name: 'bindings', method: 'GET', path: '/bindings/list', status: 200 }),
  (guild) => ({ name: 'ban', method: 'POST', path: `/moderation/${guild}/game/ban`, status: 201, body: newBan() }),
  (guild) => ({ name: 'ban status', method: 'GET', path: `/moderation/${guild}/ban-status/7001`, status: 200 }),
  () => ({ name: 'link', method: 'POST', path: '/verification/link', status: 201, body: newLink() }),
  () => ({ name: 'heartbeat', method: 'POST', path: '/game/servers/heartbeat', status: 200, body: HEARTBEAT }),
  () => ({ name: 'poll', method: 'GET', path: '/game/servers/another/commands', status: 200 }),
  (guild) => ({
    name: 'permissions',
    method: 'GET',
    path: `/guilds/${guild}/staff/game/7001/permissions`,
    status: 200,
  }),
  (guild) => ({ name: 'member', method: 'GET', path: `/guilds/${guild}/members/920000000000000001`, status: 200 }),
  () => ({ name: 'events', method: 'GET', path: '/events?limit=5', status: 200 }),
  (guild) => ({ name: 'usage', method: 'GET', path: `/guilds/${guild}/usage`, status: 200 }),
];

/** The number of different requests. */
export const REQUEST_KINDS = REQUESTS.length;

/** Requests that together reach every service, of each guild in turn; `keys` has the API keys by guild. */
export function* mixedRequests(keys: ReadonlyMap<string, string>): Generator<LoadRequest, never> {
  for (;;) {
    for (const [guild, key] of keys) for (const make of REQUESTS) yield { ...make(guild), guild, key };
  }
}
