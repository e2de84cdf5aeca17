import { guild } from '../start/01-set-up.ts';
import { sent } from './03-send-command.ts';

const command = await guild.getCommand({ commandId: sent.command_id });
console.log(command.state, command.outcome.succeeded);
