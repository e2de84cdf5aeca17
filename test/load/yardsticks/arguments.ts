import type { Server } from 'node:http';

/** The second argument: the base URL that requests are forwarded to. */
export function upstream(): URL {
  return new URL(argument(3));
}

/** Listens on 127.0.0.1, on the port in the first argument. */
export function listen(server: Server): void {
  server.listen(Number(argument(2)), '127.0.0.1');
}

function argument(index: number): string {
  const value = process.argv[index];
  if (!value) throw new Error('usage: PORT [UPSTREAM]');
  return value;
}
