import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { realpathSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Locks a folder until this process ends. Returns false if another process holds the lock. */
export async function lockFolder(folder: string): Promise<boolean> {
  const digest = createHash('sha256').update(realpathSync(folder)).digest('hex').slice(0, 32);
  return (await claimName(`folder-${digest}`)) !== undefined;
}

/**
 * Claims a name among the processes of this machine until the returned server is closed or this process ends. Returns
 * undefined if the name is taken. On Linux the name is an abstract socket, so no file remains after a crash.
 */
export async function claimName(name: string): Promise<Server | undefined> {
  const server = createServer((socket) => socket.destroy());
  const path = `guild-data-${name}`;
  try {
    server.listen(process.platform === 'linux' ? `\0${path}` : join(tmpdir(), `${path}.sock`));
    await once(server, 'listening');
    // The claim does not keep the process running.
    return server.unref();
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EADDRINUSE') return undefined;
    throw error;
  }
}
