import { guild } from '../start/01-set-up.ts';
import { SERVER } from './02-heartbeat.ts';

export const { commands } = await guild.pollCommands({ serverId: SERVER, wait: 25 });
for (const { type, payload } of commands) console.log(type, payload);
