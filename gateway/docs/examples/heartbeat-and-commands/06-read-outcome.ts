import { call, GUILD } from '../start/01-set-up.ts';
import { sent } from './03-send-command.ts';

const command = await call<{ state: string; outcome: { succeeded: number } }>(
  'GET',
  `/api/v1/guilds/${GUILD}/commands/${sent.command_id}`,
);
console.log(command.state, command.outcome.succeeded);
