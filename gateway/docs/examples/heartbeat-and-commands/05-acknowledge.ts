import { call, GUILD } from '../start/01-set-up.ts';
import { SERVER } from './02-heartbeat.ts';
import { commands } from './04-poll.ts';

for (const { command_id } of commands) {
  await call('POST', `/api/v1/game/servers/${SERVER}/commands/${command_id}/ack`, {
    guild_id: GUILD,
    status: 'success',
    result: { shown: true },
  });
}
