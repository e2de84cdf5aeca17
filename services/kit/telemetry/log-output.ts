import type { DestinationStream } from 'pino';

/**
 * Collects the log lines of one turn of the event loop into one write, because under load a write costs more than
 * composing the line. When the process exits, the rest is written first; only SIGKILL loses the lines of that turn.
 */
export function batchLines(destination: DestinationStream): DestinationStream {
  let pending = '';
  const flush = () => {
    const lines = pending;
    pending = '';
    if (lines !== '') destination.write(lines);
  };
  process.on('exit', flush);
  return {
    write: (line: string) => {
      if (pending === '') setImmediate(flush);
      pending += line;
    },
  };
}
