import { userInfo } from 'node:os';
import { guildctl } from './guildctl.ts';

/** Users of containers may have a number and no name. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.() ?? 'unknown'}`;
  }
}

process.exitCode = await guildctl(process.argv.slice(2), {
  environment: process.env,
  user: userName(),
  out: (text) => void process.stdout.write(text),
  error: (text) => void process.stderr.write(text),
  isTerminal: process.stdout.isTTY,
});
