import { join } from 'node:path';
import type { Child } from '#local/child.ts';
import { freePorts } from '#local/ports.ts';
import { isListening, startProcess } from './running.ts';
import { nginxCommand, nginxHas } from './yardsticks/nginx.ts';

/** A program with which the gateway is compared. */
export interface Yardstick {
  name: string;
  child: Child;
  port: number;
}

const FOLDER = join(import.meta.dirname, 'yardsticks');

/** A bare Node server. */
export async function startServer(): Promise<Yardstick> {
  return startNode('Node server', 'server.ts');
}

/** Starts the proxies that are installed on this machine. Each forwards requests to `upstream`, a `host:port`. */
export async function startProxies(
  folder: string,
  upstream: string,
  policy: { keys: readonly string[]; redis: URL },
): Promise<Yardstick[]> {
  const proxies = [
    await startNode('Node proxy', 'proxy.ts', `http://${upstream}`),
    await startNode(BARE, 'express.ts', `http://${upstream}`),
  ];
  if (nginxHas('proxy')) proxies.push(await startNginx('nginx', join(folder, 'nginx'), { upstream }));
  if (nginxHas('lua'))
    proxies.push(await startNginx('nginx with Lua', join(folder, 'nginx-lua'), { upstream, policy }));
  return proxies;
}

/** Express with http-proxy-middleware and nothing else. */
export const BARE = 'Express and middleware';

async function startNode(name: string, file: string, ...upstream: string[]): Promise<Yardstick> {
  return start(name, (port) => [process.execPath, join(FOLDER, file), String(port), ...upstream]);
}

function startNginx(
  name: string,
  folder: string,
  options: { upstream: string; policy?: Parameters<typeof nginxCommand>[0]['policy'] },
): Promise<Yardstick> {
  return start(name, (port) => nginxCommand({ folder, port, ...options }));
}

async function start(name: string, commandOf: (port: number) => [string, ...string[]]): Promise<Yardstick> {
  const [port = 0] = await freePorts(1);
  const child = await startProcess({ command: commandOf(port), isReady: () => isListening(port) });
  return { name, child, port };
}
