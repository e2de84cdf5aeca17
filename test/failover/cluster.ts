import { setTimeout as wait } from 'node:timers/promises';
import { DATABASE, roleOf } from '../restore/installed-system.ts';
import { PASSWORD } from '../restore/server.ts';
import type { ClusterNode } from './node.ts';

const LOOK_EVERY_MS = 50;
const PROMOTED_MS = 120_000;

/** Servers of PostgreSQL, of which one is the primary; its commits wait for one of the others. */
export interface Cluster {
  readonly nodes: readonly ClusterNode[];
  /** Kills the primary with SIGKILL. The cluster then promotes a standby. */
  killPrimary(primary: ClusterNode): Promise<void>;
  /**
   * Cuts the primary off from the other servers, and from its clients too if `cutsClients`. The cluster then promotes a
   * standby.
   */
  partitionPrimary(primary: ClusterNode, cutsClients: boolean): Promise<void>;
  /** Returns the server that has failed to the cluster, as a standby. */
  repair(failed: ClusterNode): Promise<void>;
  stop(): Promise<void>;
}

/** The URL with which a service connects to the cluster. */
export function urlOf({ nodes }: Cluster, service: string): string {
  const hosts = nodes.map(({ toClients }) => `127.0.0.1:${toClients.port}`).join(',');
  return `postgres://${roleOf(service)}:${PASSWORD}@${hosts}/${DATABASE}?target_session_attrs=read-write`;
}

/** Waits until one of these servers accepts writes, and returns it. */
export async function untilAccepting(nodes: readonly ClusterNode[]): Promise<ClusterNode> {
  const deadline = performance.now() + PROMOTED_MS;
  while (performance.now() < deadline) {
    const accepting = await Promise.all(nodes.map((node) => node.acceptsWrites()));
    const primary = nodes.find((_, index) => accepting[index]);
    if (primary) return primary;
    await wait(LOOK_EVERY_MS);
  }
  throw new Error(`no server accepted writes within ${PROMOTED_MS / 1000} s`);
}

/** Waits until all other servers of the cluster receive what the primary writes, and commits wait for one of them. */
export async function untilReplicated({ nodes }: Cluster, primary: ClusterNode): Promise<void> {
  const deadline = performance.now() + PROMOTED_MS;
  while (performance.now() < deadline) {
    const { streaming, synchronous } = await primary.standbys().catch(() => ({ streaming: 0, synchronous: 0 }));
    if (streaming >= nodes.length - 1 && synchronous > 0) return;
    await wait(LOOK_EVERY_MS);
  }
  throw new Error('the standbys do not follow the primary');
}
