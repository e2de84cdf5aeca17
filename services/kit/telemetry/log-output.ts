import type { DestinationStream } from 'pino';

/**
 * Collects the log lines of one turn of the event loop into one write, because under load a write costs more than
 * composing the line. Lines that are not written yet are written when the process exits; only SIGKILL loses them.
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
