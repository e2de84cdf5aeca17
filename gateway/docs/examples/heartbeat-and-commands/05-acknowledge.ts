import { guild } from '../start/01-set-up.ts';
import { SERVER } from './02-heartbeat.ts';
import { commands } from './04-poll.ts';

for (const { command_id: commandId } of commands) {
  await guild.acknowledgeCommand({ serverId: SERVER, commandId, status: 'success', result: { shown: true } });
}
