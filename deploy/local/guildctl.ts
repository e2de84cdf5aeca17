import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { withoutOthers } from './processes.ts';

const TIMEOUT_MS = 20_000;

/** guildctl as an operator: the path of its main file, and what it needs to call auth. */
export type Operator = { guildctl: string; authAddress: string; adminSecret: string };

/** Runs a command of guildctl as an operator, and returns one text field of what it prints. */
export async function runGuildctl(
  command: readonly string[],
  field: string,
  { guildctl, authAddress, adminSecret }: Operator,
): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, [guildctl, ...command, '--json'], {
    timeout: TIMEOUT_MS,
    env: { ...withoutOthers(process.env), GUILDCTL_AUTH: authAddress, ADMIN_SECRETS: adminSecret },
  });
  const printed = JSON.parse(stdout) as Record<string, unknown>;
  const value = printed[field];
  if (typeof value !== 'string') throw new Error(`guildctl ${command.slice(0, 2).join(' ')} printed no ${field}`);
  return value;
}
