import { call, GUILD } from '../start/01-set-up.ts';

const { config } = await call<{ config: { server_heartbeat_seconds: number } }>('POST', '/api/v1/game/games/register', {
  guild_id: GUILD,
  universe_id: 30001,
  place_id: 40001,
  name: 'Harbor Life',
});
console.log(`heartbeat every ${config.server_heartbeat_seconds} seconds`);
