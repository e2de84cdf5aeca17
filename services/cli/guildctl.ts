import { COMMAND_FILES } from './commands.ts';
import { type GuildctlOptions, print } from './invocation.ts';

/**
 * Runs one guildctl command line. Returns the exit status: 0, or 1 after a failure was reported on standard error. API
 * keys in error messages are redacted, because the messages may quote the command line.
 */
export async function guildctl(words: readonly string[], options: GuildctlOptions): Promise<number> {
  const found = find(words);
  if (!found && words.some((word) => word === '--help' || word === '-h')) return print(options.out, overview(), 0);
  // All that a command needs is loaded only now, so that the help is printed without waiting for it.
  const { redactKeys } = await import('#kit/security/redact.ts');
  const redacted = { ...options, error: (text: string) => options.error(redactKeys(text)) };
  if (!found) {
    const typed = words.slice(0, 2).join(' ');
    const problem = /^(?:-|$)/.test(typed) ? 'a command is required' : `there is no command "${typed}"`;
    return print(redacted.error, `guildctl: ${problem}\n\n${overview()}`, 1);
  }
  const { name, file } = found;
  const command = (await file.load()).find((candidate) => candidate.name === name);
  if (!command) throw new Error(`the file of ${name} does not define it`);
  const { runCommandLine } = await import('./run-command.ts');
  const rest = words.slice(name.split(' ').length);
  return runCommandLine({ command, summary: file.summaries[name] ?? '', rest }, redacted);
}

/** Returns the name of the command that the words begin with, and its file. */
function find(words: readonly string[]) {
  for (const file of COMMAND_FILES) {
    for (const name of Object.keys(file.summaries)) {
      if (name === words.slice(0, name.split(' ').length).join(' ')) return { name, file };
    }
  }
  return undefined;
}

function overview(): string {
  const summaries = COMMAND_FILES.flatMap((file) => Object.entries(file.summaries));
  const width = Math.max(...summaries.map(([name]) => name.length));
  const lines = summaries.map(([name, summary]) => `  ${name.padEnd(width)}  ${summary}`);
  return `Usage: guildctl COMMAND [OPTIONS] [--json] [--help]\n\n${lines.join('\n')}`;
}
