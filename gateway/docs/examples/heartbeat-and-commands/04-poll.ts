import { call } from '../start/01-set-up.ts';
import { SERVER } from './02-heartbeat.ts';

const polled = await call<{ commands: { command_id: string; type: string; payload: object }[] }>(
  'GET',
  `/api/v1/game/servers/${SERVER}/commands?wait=25`,
);
export const { commands } = polled;
for (const { type, payload } of commands) console.log(type, payload);
