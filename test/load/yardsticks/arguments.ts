import type { Server } from 'node:http';

/** The base URL that requests are passed to, the second argument. */
export function upstream(): URL {
  return new URL(argument(3));
}

/** Listens on the port of 127.0.0.1 that the first argument names. */
export function listen(server: Server): void {
  server.listen(Number(argument(2)), '127.0.0.1');
}

function argument(index: number): string {
  const value = process.argv[index];
  if (!value) throw new Error('usage: PORT [UPSTREAM]');
  return value;
}
