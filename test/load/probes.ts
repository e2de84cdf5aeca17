import { chatIdOf, type Guild, gameIdOf, userOf, type World } from './world.ts';

type Probe = [method: string, path: string, body?: unknown];

/** Requests that cover every way in which routes read the large tables. */
function probesOf({ id }: Guild, user: number): Probe[] {
  const [chat, game] = [chatIdOf(user), gameIdOf(user)];
  const moderation = `/moderation/${id}`;
  const since = Math.floor(Date.now() / 1000) - 3_600;
  const logs = [`game_id=${game}`, 'moderator_game_id=700000007', 'action=ban', `from=${since}`, `to=${since}`];
  return [
    ['GET', `/lookup/chat/${chat}`],
    ['GET', `/lookup/game/${game}`],
    ['POST', '/lookup/status', { guild_id: id, game_ids: [game, game + 2] }],
    ['POST', '/lookup/status', { guild_id: id, chat_ids: [chat] }],
    ['POST', '/reverse', { guild_id: id, chat_id: chat }],
    ['GET', `/guilds/${id}/verified?limit=100`],
    ['GET', `/guilds/${id}/verified?limit=100&updated_since=${since}`],
    ['GET', `/guilds/${id}/links/${chat}`],
    ['GET', `${moderation}/ban-status/${game}`],
    ['GET', `${moderation}/mute-status/${game}?place_id=101`],
    ['POST', `${moderation}/game/status`, { game_ids: [game, game + 2] }],
    ['GET', `${moderation}/game/bans/active`],
    ['GET', `${moderation}/game/bans/active?updated_since=${since}`],
    ['GET', `${moderation}/game/mutes/active?place_id=101`],
    ['GET', `${moderation}/logs`],
    ...logs.map((filter): Probe => ['GET', `${moderation}/logs?${filter}`]),
    ['GET', `${moderation}/logs?${logs.join('&')}`],
    ['POST', `${moderation}/game/mute`, { game_id: game, reason: 'Spam', duration_seconds: 60 }],
    ['POST', `${moderation}/game/unmute`, { game_id: game, reason: 'Enough' }],
    ['POST', '/verification/unlink', { guild_id: id, chat_id: chat }],
    ['POST', '/verification/link', { guild_id: id, chat_id: chat, game_id: game, game_username: 'Player' }],
    ['POST', '/game/servers/heartbeat', { guild_id: id, server_id: 's', place_id: 1, player_count: 1, max_players: 2 }],
    ['GET', '/game/servers/s/commands'],
  ];
}

/** Sends each probe for the largest guild and for a small one. Throws if a request is malformed or fails. */
export async function probe(gateway: string, { guilds }: World, users: number): Promise<void> {
  for (const number of [0, 7]) {
    const guild = guilds[number] as Guild;
    for (const [method, path, body] of probesOf(guild, userOf(number, Math.floor(users / guilds.length / 10)))) {
      const headers = { 'x-api-key': guild.key, 'x-guild-id': guild.id, 'content-type': 'application/json' };
      const init = body === undefined ? {} : { body: JSON.stringify(body) };
      const response = await fetch(`${gateway}/api/v1${path}`, { method, headers, ...init });
      const text = await response.text();
      if (response.status >= 500 || [400, 401, 403, 429].includes(response.status)) {
        throw new Error(`${method} ${path}: ${response.status} ${text}`);
      }
    }
  }
}
