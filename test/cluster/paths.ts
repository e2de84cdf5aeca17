import { DEPLOYABLES } from '#local/processes.ts';
import { PORTS } from '../../deploy/chart-files.ts';
import type { Namespace } from './kubectl.ts';

/** An address that a component tries to connect to, and whether it may. */
type Path = { from: string; to: string; port: number; allowed: boolean };

const SERVERS = [
  { name: 'postgresql', ports: [5432], holds: 'database' },
  { name: 'redis', ports: [6379], holds: 'redis' },
  { name: 'simulators', ports: [8082, 8083], holds: 'platforms' },
] as const;

/** Every path from a service to another and to the servers, by the table of processes. */
export function pathsOf(release: string): Path[] {
  return DEPLOYABLES.flatMap((from) => [
    ...DEPLOYABLES.filter((to) => to !== from).flatMap((to) => {
      const path = (port: number, allowed: boolean): Path => ({
        from: from.name,
        to: `${release}-${to.name}-pods`,
        port,
        allowed,
      });
      const ports = [path(PORTS.admin, false)];
      if (to.listens.includes('grpc')) ports.push(path(PORTS.grpc, from.calls.includes(to.name)));
      if (to.listens.includes('http')) ports.push(path(PORTS.http, from.proxies.includes(to.name)));
      if (to.listens.includes('public')) ports.push(path(PORTS.public, false));
      return ports;
    }),
    ...SERVERS.flatMap(({ name, ports, holds }) =>
      ports.map((port) => ({ from: from.name, to: `${release}-${name}`, port, allowed: from.holds.includes(holds) })),
    ),
  ]);
}

/** What somebody else's pod tries: the gateway is there for everybody, and nothing else. */
export function pathsOfOthers(release: string): Path[] {
  const services = DEPLOYABLES.flatMap(({ name, listens }) =>
    [...listens, 'admin' as const].map((listener) => ({
      to: `${release}-${name}-pods`,
      port: PORTS[listener],
      allowed: listener === 'public',
    })),
  );
  const servers = SERVERS.flatMap(({ name, ports }) =>
    ports.map((port) => ({ to: `${release}-${name}`, port, allowed: false })),
  );
  return [...services, ...servers].map((path) => ({ from: 'others', ...path }));
}

/** What guildctl may reach: every admin port, and the gRPC of every service that operators change. */
export function pathsOfOperators(release: string): Path[] {
  return DEPLOYABLES.flatMap(({ name, listens, holds }) => {
    const to = `${release}-${name}-pods`;
    const admin: Path = { from: 'guildctl', to, port: PORTS.admin, allowed: true };
    const grpc: Path = { from: 'guildctl', to, port: PORTS.grpc, allowed: holds.includes('admin') };
    return listens.includes('grpc') ? [admin, grpc] : [admin];
  });
}

/** Tries all at once and prints which could be connected to. */
const TRY = `
import { connect } from 'node:net';
const targets = JSON.parse(process.argv[1]);
const open = await Promise.all(targets.map(([host, port]) => new Promise((done) => {
  const socket = connect({ host, port });
  const end = (result) => { socket.destroy(); done(result); };
  socket.setTimeout(4000, () => end(false));
  socket.on('connect', () => end(true));
  socket.on('error', () => end(false));
})));
console.log(JSON.stringify(open));
process.exit(0);`;

/** Tries paths from one pod; returns those that are not as they should be, in words. */
export async function tryPaths(namespace: Namespace, pod: string, paths: readonly Path[]): Promise<string[]> {
  const targets = JSON.stringify(paths.map(({ to, port }) => [to, port]));
  const open = JSON.parse(await namespace.node(pod, TRY, targets)) as boolean[];
  return paths.flatMap(({ from, to, port, allowed }, index) =>
    open[index] === allowed ? [] : [`${from} ${open[index] ? 'reaches' : 'does not reach'} ${to}:${port}`],
  );
}
