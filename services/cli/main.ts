import { enableCompileCache } from 'node:module';
import { userInfo } from 'node:os';
import { join } from 'node:path';

// Halves the time to start. The folder is in the installation, not in the folder for temporary files, where other users
// of the machine could write; where it cannot be written, nothing is cached.
enableCompileCache(
  process.env['NODE_COMPILE_CACHE'] ?? join(import.meta.dirname, '../../node_modules/.cache/guildctl'),
);
const { guildctl } = await import('./guildctl.ts');

/** Returns the name of the operating system's user. In a container the user may have a number but no name. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.() ?? 'unknown'}`;
  }
}

/**
 * Writes to standard output. Resolves when the text was written, so that a long list does not fill memory if its reader
 * is slow.
 */
function print(text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.write(text, (error) => (error ? reject(error) : resolve()));
  });
}

// A program that reads the output, such as `head`, closes the pipe when it has read enough; guildctl then ends without
// an error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));

process.exitCode = await guildctl(process.argv.slice(2), {
  environment: process.env,
  user: userName(),
  out: print,
  error: (text) => void process.stderr.write(text),
  input: process.stdin,
  isTerminal: process.stdout.isTTY,
});
