import type { DestinationStream } from 'pino';

/**
 * Gathers the lines of one turn of the event loop into one write: under load writing costs more than the line. Whatever
 * ends the process in order writes the rest first; a kill loses the lines of that one turn.
 */
export function gatherLines(destination: DestinationStream): DestinationStream {
  let gathered = '';
  const flush = () => {
    const lines = gathered;
    gathered = '';
    if (lines !== '') destination.write(lines);
  };
  process.on('exit', flush);
  return {
    write: (line: string) => {
      if (gathered === '') setImmediate(flush);
      gathered += line;
    },
  };
}
