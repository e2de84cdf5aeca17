import { DEPLOYABLES } from '#local/processes.ts';
import { PORTS } from '../../deploy/chart-files.ts';
import type { Namespace } from './kubectl.ts';

/** An address to which a component tries to connect, and whether that is allowed. */
type Path = { from: string; to: string; port: number; allowed: boolean };

const SERVERS = [
  { name: 'postgresql', port: 5432, holders: ['database'] },
  { name: 'redis', port: 6379, holders: ['redis'] },
  { name: 'simulators', port: 8082, holders: ['platforms', 'sign-in'] },
  { name: 'simulators', port: 8083, holders: ['platforms', 'game'] },
  { name: 'simulators', port: 8085, holders: ['sign-in'] },
] as const;

/** Every connection between services and to the servers, from the table of processes. */
function pathsOf(release: string): Path[] {
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
      if (to.listens.includes('http')) ports.push(path(PORTS.http, from.forwards.includes(to.name)));
      if (to.listens.includes('public')) ports.push(path(PORTS.public, false));
      return ports;
    }),
    ...SERVERS.map(({ name, port, holders }) => ({
      from: from.name,
      to: `${release}-${name}`,
      port,
      allowed: holders.some((holder) => from.holds.includes(holder)),
    })),
  ]);
}

/** Connections of a foreign pod: only those to the gateway are allowed. */
function pathsOfOthers(release: string): Path[] {
  const services = DEPLOYABLES.flatMap(({ name, listens }) =>
    [...listens, 'admin' as const].map((listener) => ({
      to: `${release}-${name}-pods`,
      port: PORTS[listener],
      allowed: listener === 'public',
    })),
  );
  const servers = SERVERS.map(({ name, port }) => ({ to: `${release}-${name}`, port, allowed: false }));
  return [...services, ...servers].map((path) => ({ from: 'others', ...path }));
}

/** Connections of guildctl: every admin port, and gRPC of every service with methods for operators. */
function pathsOfOperators(release: string): Path[] {
  return DEPLOYABLES.flatMap(({ name, listens, holds }) => {
    const to = `${release}-${name}-pods`;
    const admin: Path = { from: 'guildctl', to, port: PORTS.admin, allowed: true };
    const grpc: Path = { from: 'guildctl', to, port: PORTS.grpc, allowed: holds.includes('admin') };
    return listens.includes('grpc') ? [admin, grpc] : [admin];
  });
}

/** Tries all connections concurrently and prints which succeed. */
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

/** Tries every path, from a pod of each service, from guildctl and from the load. */
export async function tryAllPaths(namespace: Namespace, release: string) {
  const faults: string[] = [];
  const paths = pathsOf(release);
  for (const { name } of DEPLOYABLES) {
    const own = paths.filter(({ from }) => from === name);
    faults.push(...(await tryPaths(namespace, name, own)));
  }
  const [operators, others] = [pathsOfOperators(release), pathsOfOthers(release)];
  faults.push(...(await tryPaths(namespace, 'guildctl', operators)), ...(await tryPaths(namespace, undefined, others)));
  const all = [...paths, ...operators, ...others];
  const allowed = all.filter((path) => path.allowed).length;
  return { faults, allowed, forbidden: all.length - allowed };
}

/** Tries connections from a pod of a component, by default from the load; describes those with an unexpected result. */
async function tryPaths(
  namespace: Namespace,
  component: string | undefined,
  paths: readonly Path[],
): Promise<string[]> {
  const [pod = ''] = component === undefined ? ['load'] : await namespace.pods(component);
  const targets = JSON.stringify(paths.map(({ to, port }) => [to, port]));
  const open = JSON.parse(await namespace.node(pod, TRY, targets)) as boolean[];
  return paths.flatMap(({ from, to, port, allowed }, index) =>
    open[index] === allowed ? [] : [`${from} ${open[index] ? 'reaches' : 'does not reach'} ${to}:${port}`],
  );
}
