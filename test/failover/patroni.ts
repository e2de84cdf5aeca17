import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { vi } from 'vitest';
import { type Child, findProgram, startChild, untilReady } from '#local/child.ts';
import { freePorts } from '#local/ports.ts';
import { installOnDebian } from '../debian.ts';
import { startTcpProxy } from '../network/tcp-proxy.ts';
import { bareEnvironment, type Installation, serverUser } from '../restore/installation.ts';
import { createFolder, createServerFolder, own, PASSWORD, removeFolder } from '../restore/server.ts';
import { type Cluster, untilAccepting, untilReplicated } from './cluster.ts';
import { ClusterNode } from './node.ts';

const NODES = 3;
const READY_MS = 60_000;
const STOP_MS = 30_000;
/** The smallest values that Patroni accepts, in seconds: a lost primary is replaced within about 20 s. */
const TIMES = { ttl: 20, loop_wait: 2, retry_timeout: 3 };

/** The programs, and Debian's packages that have them; Patroni needs python3-etcd to talk to etcd. */
const PACKAGES: Record<string, readonly string[]> = { patroni: ['patroni', 'python3-etcd'], etcd: ['etcd-server'] };

/** Installs Patroni and etcd where that is possible. Returns why they cannot run here; undefined if they can. */
export function missingForPatroni(): string | undefined {
  for (const [name, packages] of Object.entries(PACKAGES)) {
    if (!findProgram(name)) packages.forEach(installOnDebian);
  }
  const missing = Object.keys(PACKAGES).filter((name) => !findProgram(name));
  return missing.length === 0 ? undefined : `${missing.join(' and ')} cannot be installed from Debian's packages`;
}

/** The ports and processes of one server. */
interface Member {
  node: ClusterNode;
  /** The port of Patroni's REST API, and that of the relay through which the other servers reach it. */
  rest: { port: number; relay: number };
  /** The relay through which this server reaches etcd. */
  etcdRelay: number;
  process: Child | undefined;
}

/** Three servers that Patroni manages with etcd, in synchronous mode, strict. */
export class PatroniCluster implements Cluster {
  readonly #installation: Installation;
  readonly #folder = createServerFolder();
  readonly #members: Member[] = [];
  #etcd: Child | undefined;
  #log = '';
  /** Whether the whole machine of the next primary is lost, or only PostgreSQL on it. */
  #killsMachine = false;

  private constructor(installation: Installation) {
    this.#installation = installation;
  }

  static async start(
    installation: Installation,
    prepare: (node: ClusterNode) => Promise<unknown>,
  ): Promise<PatroniCluster> {
    const cluster = new PatroniCluster(installation);
    try {
      await cluster.#start(prepare);
    } catch (error) {
      await cluster.stop();
      throw new Error(`Patroni did not start: ${cluster.log.slice(-4_000)}`, { cause: error });
    }
    return cluster;
  }

  get nodes(): readonly ClusterNode[] {
    return this.#members.map(({ node }) => node);
  }

  /** What Patroni and the servers have printed last. */
  get log(): string {
    return this.#log;
  }

  /** Kills PostgreSQL alone and together with Patroni in turn: Patroni hands over at once, or another one finds out. */
  async killPrimary(primary: ClusterNode): Promise<void> {
    const member = this.#memberOf(primary);
    if (this.#killsMachine) await kill(member.process);
    this.#killsMachine = !this.#killsMachine;
    process.kill(this.#postmaster(primary), 'SIGKILL');
  }

  async partitionPrimary(primary: ClusterNode, cutsClients: boolean): Promise<void> {
    primary.partition(cutsClients);
  }

  /** Heals the network and starts what was killed: Patroni then rewinds the server, and lets it follow the primary. */
  async repair(failed: ClusterNode): Promise<void> {
    failed.heal();
    const member = this.#memberOf(failed);
    if (member.process?.exit()) await this.#startMember(member);
    await this.#untilPromotable();
  }

  async stop(): Promise<void> {
    for (const { node } of this.#members) node.heal();
    // Patroni stops PostgreSQL when it stops itself.
    await Promise.all(this.#members.map(async ({ process }) => process?.stop(STOP_MS)));
    await this.#etcd?.stop(STOP_MS);
    await Promise.all(this.#members.map(({ node }) => node.close()));
    removeFolder(this.#folder);
  }

  async #start(prepare: (node: ClusterNode) => Promise<unknown>): Promise<void> {
    const [etcdPort = 0, peerPort = 0, ...ports] = await freePorts(2 + 2 * NODES);
    await this.#startEtcd(etcdPort, peerPort);
    for (let number = 0; number < NODES; number++) {
      const [port = 0, rest = 0] = ports.slice(2 * number);
      const [toRest, toEtcd] = await Promise.all([startTcpProxy(rest), startTcpProxy(etcdPort)]);
      const node = await ClusterNode.create(number, port, [toRest, toEtcd]);
      const member = { node, rest: { port: rest, relay: toRest.port }, etcdRelay: toEtcd.port, process: undefined };
      this.#members.push(member);
      createFolder(this.#folderOf(node));
      await this.#startMember(member);
    }
    const primary = await untilAccepting(this.nodes);
    await untilReplicated(this, primary);
    await prepare(primary);
    await this.#untilPromotable();
  }

  /**
   * Waits until Patroni has stored in etcd which standby is synchronous: it promotes no other one. PostgreSQL knows it up to
   * two of Patroni's rounds earlier, and a primary that fails in between has no successor.
   */
  async #untilPromotable(): Promise<void> {
    const isPromotable = async () => {
      const found = await Promise.all(this.#members.map(({ rest }) => rolesAt(rest.port)));
      return found.some((roles) => roles.includes('sync_standby'));
    };
    await vi.waitUntil(isPromotable, { timeout: READY_MS, interval: 200 });
  }

  async #startEtcd(port: number, peerPort: number): Promise<void> {
    const url = `http://127.0.0.1:${port}`;
    const peer = `http://127.0.0.1:${peerPort}`;
    const addresses = ['--listen-client-urls', url, '--advertise-client-urls', url, '--listen-peer-urls', peer];
    const cluster = ['--initial-advertise-peer-urls', peer, '--initial-cluster', `default=${peer}`];
    this.#etcd = await startChild({
      command: [program('etcd'), '--data-dir', join(this.#folder, 'etcd'), ...addresses, ...cluster],
      environment: bareEnvironment(),
      owner: serverUser(),
      output: () => undefined,
    });
    await untilReady(this.#etcd, () => isHealthy(`${url}/health`), READY_MS);
  }

  async #startMember(member: Member): Promise<void> {
    const { node } = member;
    const file = join(this.#folder, `${node.name}.yml`);
    // JSON is YAML too.
    writeFileSync(file, JSON.stringify(this.#configuration(member)));
    own(file);
    member.process = await startChild({
      command: [program('patroni'), file],
      environment: { ...bareEnvironment(), HOME: this.#folderOf(node) },
      owner: serverUser(),
      output: (text) => (this.#log = `${this.#log}${text}`.slice(-100_000)),
      orphanSignal: 'SIGTERM',
    });
  }

  #configuration({ node, rest, etcdRelay }: Member): object {
    const folder = this.#folderOf(node);
    return {
      scope: 'guild',
      name: node.name,
      restapi: { listen: `127.0.0.1:${rest.port}`, connect_address: `127.0.0.1:${rest.relay}` },
      etcd3: { hosts: [`127.0.0.1:${etcdRelay}`], use_proxies: true },
      bootstrap: { dcs: SETTINGS, initdb: [{ encoding: 'UTF8' }, { locale: 'C' }] },
      postgresql: {
        listen: `127.0.0.1:${node.port}`,
        connect_address: `127.0.0.1:${node.toPeers.port}`,
        data_dir: join(folder, 'data'),
        bin_dir: this.#installation.folder,
        pgpass: join(folder, 'pgpass'),
        authentication: {
          superuser: { username: 'postgres', password: PASSWORD },
          replication: { username: 'replicator', password: PASSWORD },
        },
        parameters: { unix_socket_directories: folder },
        pg_hba: ['host all all 127.0.0.1/32 md5', 'host replication replicator 127.0.0.1/32 md5', 'local all all md5'],
      },
    };
  }

  #postmaster(node: ClusterNode): number {
    const file = join(this.#folderOf(node), 'data', 'postmaster.pid');
    return existsSync(file) ? Number(readFileSync(file, 'utf8').split('\n')[0]) : 0;
  }

  #memberOf(node: ClusterNode): Member {
    return this.#members[node.number] as Member;
  }

  #folderOf(node: ClusterNode): string {
    return join(this.#folder, node.name);
  }
}

/** The roles of all members as one of them knows them; none if it does not respond. */
async function rolesAt(port: number): Promise<string[]> {
  try {
    const response = await fetch(`http://127.0.0.1:${port}/cluster`, { signal: AbortSignal.timeout(1_000) });
    const { members } = (await response.json()) as { members: { role: string }[] };
    return members.map(({ role }) => role);
  } catch {
    return [];
  }
}

/** The settings of the cluster: as deploy/operations/failover.md recommends, with shorter times. */
const SETTINGS = {
  ...TIMES,
  maximum_lag_on_failover: 1_048_576,
  synchronous_mode: true,
  synchronous_mode_strict: true,
  // A primary that has crashed is replaced instead of started again.
  primary_start_timeout: 0,
  postgresql: {
    use_pg_rewind: true,
    use_slots: true,
    parameters: {
      max_connections: 200,
      wal_log_hints: 'on',
      wal_keep_size: '512MB',
      timezone: 'UTC',
      wal_retrieve_retry_interval: '200ms',
    },
  },
};

const program = (name: string) => findProgram(name) ?? name;

async function isHealthy(url: string): Promise<boolean> {
  return fetch(url).then(
    (response) => response.ok,
    () => false,
  );
}

async function kill(child: Child | undefined): Promise<void> {
  if (!child || child.exit()) return;
  process.kill(child.pid, 'SIGKILL');
  await child.exited;
}
