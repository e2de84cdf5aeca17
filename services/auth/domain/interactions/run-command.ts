import { ADMINISTRATOR, CHAT_COMMANDS, CHAT_PERMISSIONS, type ChatCommandName } from '#proto/chat/commands.ts';
import { type CommandCalls, CommandRejected } from './command.ts';
import { roles, verify } from './member-commands.ts';
import { ban, whois } from './staff-commands.ts';

const RUNS: Readonly<Record<ChatCommandName, (calls: CommandCalls) => Promise<string>>> = { verify, roles, whois, ban };

/**
 * Runs a slash command and returns the text of its response. `permissions` are those that the platform has signed. Throws
 * CommandRejected if the member may not use the command, and the errors of the routes that it calls.
 */
export async function runCommand(name: ChatCommandName, permissions: bigint, calls: CommandCalls): Promise<string> {
  const { permission } = CHAT_COMMANDS[name];
  const isAllowed = permission === null || (permissions & (CHAT_PERMISSIONS[permission] | ADMINISTRATOR)) !== 0n;
  if (!isAllowed) throw new CommandRejected('You do not have the permission for this command.');
  return RUNS[name](calls);
}
