import { ROOT } from '#kit/files.ts';
import type { Replica } from '../running.ts';
import type { Stage } from '../stage.ts';

/** A program and everything that it needs to respond. */
export interface Subject {
  name: string;
  kind: 'this version' | 'earlier version' | 'yardstick';
  port: number;
  /** The processes whose CPU time counts, by what they do. */
  processes: { gateway: number[]; services: number[]; postgres: number[]; redis: number[] };
  stop(): Promise<void>;
}

/** The services that the measured requests use. */
const SERVICES = ['lookup', 'moderation', 'activity'] as const;

/**
 * Starts a gateway and the services behind it, of this version or from another folder with the source of an earlier one.
 * All versions use the same database and Redis, as during an upgrade.
 */
export async function startVersion(
  { system }: Stage,
  { name, kind }: Pick<Subject, 'name' | 'kind'>,
  repository = ROOT,
): Promise<Subject> {
  const { postgres = 0, redis = 0 } = await system.processes();
  const services: Replica[] = [];
  const addresses: Record<string, string> = {};
  for (const service of SERVICES) {
    const replica = await system.startReplica(service, {}, repository);
    services.push(replica);
    addresses[`${service.toUpperCase()}_HTTP_URL`] = `http://127.0.0.1:${replica.port}`;
  }
  const gateway = await system.startReplica('gateway', addresses, repository);
  const pids = services.map(({ child }) => child.pid);
  return {
    name,
    kind,
    port: gateway.port,
    processes: { gateway: [gateway.child.pid], services: pids, postgres: [postgres], redis: [redis] },
    async stop() {
      for (const { child } of [gateway, ...services]) await child.stop(5_000);
    },
  };
}
