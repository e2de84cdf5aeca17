import { execFileSync } from 'node:child_process';
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { vi } from 'vitest';
import { freePorts } from '#local/ports.ts';
import { PATIENCE } from '../patience.ts';
import type { Installation } from '../restore/installation.ts';
import { createServerFolder, own, PASSWORD, removeFolder, Server, type ServerOptions } from '../restore/server.ts';
import { type Cluster, untilAccepting } from './cluster.ts';
import { ClusterNode } from './node.ts';

const NODES = 3;
const NAMES = Array.from({ length: NODES }, (_, number) => `node${number}`);

/**
 * Three servers without a cluster manager. This class acts as the operator who promotes the standby that has received
 * most, and lets the other one follow it.
 */
export class PlainServers implements Cluster {
  readonly nodes: ClusterNode[] = [];
  readonly #installation: Installation;
  readonly #folder = createServerFolder();
  /** The servers, by the number of their node. */
  readonly #servers: Server[] = [];
  readonly #failed = new Set<ClusterNode>();

  private constructor(installation: Installation) {
    this.#installation = installation;
  }

  /** `prepare` fills the first server before it is copied. */
  static async start(
    installation: Installation,
    prepare: (node: ClusterNode) => Promise<unknown>,
  ): Promise<PlainServers> {
    const cluster = new PlainServers(installation);
    try {
      await cluster.#start(prepare);
    } catch (error) {
      await cluster.stop();
      throw error;
    }
    return cluster;
  }

  async killPrimary(primary: ClusterNode): Promise<void> {
    await this.#serverOf(primary).kill();
    this.#failed.add(primary);
    // What is still on its way must arrive first, or a standby could have received more than the one that is promoted.
    for (const node of this.#running) await untilWithoutPrimary(node);
    await this.#promote();
  }

  async partitionPrimary(primary: ClusterNode, cutsClients: boolean): Promise<void> {
    primary.partition(cutsClients);
    this.#failed.add(primary);
    await this.#promote();
  }

  async repair(failed: ClusterNode): Promise<void> {
    const primary = await untilAccepting(this.#running);
    // Whatever the old primary has written alone is discarded with its data.
    await this.#serverOf(failed).kill();
    failed.heal();
    removeFolder(this.#folderOf(failed));
    await this.#serverOf(primary).copyTo(this.#folderOf(failed));
    await this.#startServer(failed, primary);
    this.#failed.delete(failed);
  }

  async stop(): Promise<void> {
    for (const node of this.nodes) node.heal();
    await Promise.all(this.#servers.map((server) => server.stop()));
    await Promise.all(this.nodes.map((node) => node.close()));
    removeFolder(this.#folder);
  }

  async #start(prepare: (node: ClusterNode) => Promise<unknown>): Promise<void> {
    const ports = await freePorts(NODES);
    for (const [number, port] of ports.entries()) this.nodes.push(await ClusterNode.create(number, port));
    const [first, ...others] = this.nodes as [ClusterNode, ...ClusterNode[]];
    this.#servers[first.number] = await Server.create(this.#installation, this.#folderOf(first), this.#options(first));
    await prepare(first);
    // Only now: while it is being prepared, no standby exists.
    await first.query(`ALTER SYSTEM SET synchronous_standby_names = 'ANY 1 (${NAMES.join(', ')})'`);
    await this.#serverOf(first).stop();
    // A stopped server is copied with its files: the embedded PostgreSQL has no pg_basebackup.
    for (const node of others) execFileSync('cp', ['-a', this.#folderOf(first), this.#folderOf(node)]);
    await this.#startServer(first);
    await Promise.all(others.map((node) => this.#startServer(node, first)));
  }

  /** Starts the server of a node on existing data, as a standby of `primary` if there is one. */
  async #startServer(node: ClusterNode, primary?: ClusterNode): Promise<void> {
    const options: ServerOptions = this.#options(node);
    if (primary) {
      const file = join(this.#folderOf(node), 'postgresql.auto.conf');
      appendFileSync(file, `primary_conninfo = '${conninfoOf(primary)}'\n`);
      own(file);
      options.signal = 'standby.signal';
    }
    this.#servers[node.number] = await Server.start(this.#installation, this.#folderOf(node), options);
  }

  async #promote(): Promise<void> {
    const standbys = this.#running;
    const received = await Promise.all(standbys.map(receivedBytes));
    const best = standbys.reduce((a, b) =>
      (received[standbys.indexOf(b)] ?? 0n) > (received[standbys.indexOf(a)] ?? 0n) ? b : a,
    );
    // The last server has nobody to wait for.
    if (standbys.length === 1) {
      await best.query("ALTER SYSTEM SET synchronous_standby_names = ''");
      await best.query('SELECT pg_reload_conf()');
    }
    await best.query('SELECT pg_promote(false)');
    for (const node of standbys.filter((one) => one !== best)) {
      await node.query(`ALTER SYSTEM SET primary_conninfo = '${conninfoOf(best)}'`);
      await node.query('SELECT pg_reload_conf()');
    }
  }

  /** The servers that have not failed. */
  get #running(): ClusterNode[] {
    return this.nodes.filter((node) => !this.#failed.has(node));
  }

  #options(node: ClusterNode): ServerOptions {
    const settings = {
      cluster_name: node.name,
      wal_retrieve_retry_interval: '200ms',
      wal_keep_size: '512MB',
    };
    return { port: node.port, settings };
  }

  #serverOf(node: ClusterNode): Server {
    return this.#servers[node.number] as Server;
  }

  #folderOf(node: ClusterNode): string {
    return join(this.#folder, node.name);
  }
}

/** How a standby connects to its primary; PostgreSQL adds the name of the standby's cluster_name. */
function conninfoOf(primary: ClusterNode): string {
  return `host=127.0.0.1 port=${primary.toPeers.port} user=postgres password=${PASSWORD}`;
}

/** How much of the primary's WAL a standby has received, in bytes. */
async function receivedBytes(standby: ClusterNode): Promise<bigint> {
  const rows = await standby.query<{ bytes: string }>(
    `SELECT (coalesce(pg_last_wal_receive_lsn(), pg_last_wal_replay_lsn()) - '0/0'::pg_lsn)::text AS bytes`,
  );
  return BigInt(rows[0]?.bytes ?? 0);
}

async function untilWithoutPrimary(standby: ClusterNode): Promise<void> {
  await vi.waitUntil(async () => (await standby.query('SELECT FROM pg_stat_wal_receiver')).length === 0, PATIENCE);
}
