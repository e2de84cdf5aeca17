import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { vi } from 'vitest';
import { VOLATILE } from '#local/postgres.ts';
import { allMigrations } from '../../deploy/all-migrations.ts';
import { distributeTables } from '../../deploy/citus/distribute.ts';
import { migrateAll } from '../../deploy/migrate.ts';
import { PATIENCE } from '../patience.ts';
import { databaseRows } from '../postgres/database.ts';
import type { Installation } from '../restore/installation.ts';
import { createFolder, Server } from '../restore/server.ts';

const WORKERS = 2;
const SETTINGS: Record<string, string> = {
  shared_preload_libraries: 'citus',
  // Shards are moved by logical replication.
  wal_level: 'logical',
  max_wal_senders: '10',
  // For transactions that change several nodes.
  max_prepared_transactions: '400',
  // Each database has a daemon.
  max_worker_processes: '64',
  // How often Citus commits or rolls back prepared transactions that a crash has left on a worker. Until then their rows are locked
  // and unchanged.
  'citus.recover_2pc_interval': '5s',
  // Enough to have several on each worker.
  'citus.shard_count': '4',
};
const ADDRESS = '127.0.0.1';
/** The name with which a standby connects to its node. */
const STANDBY = 'standby';

/** With CITUS_LOGS the servers write what they log into that folder, which their user may write: one file per connection. */
function logSettings(folder = process.env['CITUS_LOGS']): Record<string, string> {
  if (!folder) return {};
  return {
    logging_collector: 'on',
    log_directory: folder,
    log_filename: 'node-%p.log',
    log_line_prefix: '%p %a %d ',
    'citus.multi_task_query_log_level': 'log',
  };
}

/** A Citus cluster on this machine: a coordinator and workers, each a server of its own. */
export class CitusCluster {
  readonly coordinator: Server;
  readonly workers: readonly Server[];
  readonly #settings: Record<string, string>;
  readonly #standbys: Server[] = [];

  private constructor([coordinator, ...workers]: Server[], settings: Record<string, string>) {
    if (!coordinator) throw new Error('there is no coordinator');
    this.coordinator = coordinator;
    this.workers = workers;
    this.#settings = settings;
  }

  /**
   * Starts the servers with their data below `folder`, which exists and which their user may enter. By default commits are not flushed
   * to disk, so a crash loses them; `changed` overrides settings.
   */
  static async start(
    installation: Installation,
    folder: string,
    changed: Record<string, string> = {},
  ): Promise<CitusCluster> {
    const access = join(createFolder(join(folder, 'access')), 'pg_hba.conf');
    // The nodes connect to each other without passwords.
    writeFileSync(access, `host all all ${ADDRESS}/32 trust\nhost replication all ${ADDRESS}/32 trust\n`, {
      mode: 0o644,
    });
    const settings = { ...VOLATILE, ...SETTINGS, ...logSettings(), ...changed, hba_file: access };
    const nodes = Array.from({ length: 1 + WORKERS }, (_, number) => join(folder, `node-${number}`));
    const servers = await Promise.all(nodes.map((node) => Server.create(installation, node, { settings })));
    return new CitusCluster(servers, settings);
  }

  /** Starts a synchronous standby of a node: from now on each commit of the node waits until the standby has it. */
  async startStandby(node: Server, port?: number): Promise<Server> {
    const folder = `${node.folder}-standby`;
    await node.copyTo(folder);
    const primary = `host=${ADDRESS} port=${node.port} user=postgres application_name=${STANDBY}`;
    const settings = { ...this.#settings, primary_conninfo: primary };
    const options = { signal: 'standby.signal', settings, ...(port === undefined ? {} : { port }) } as const;
    const standby = await Server.start(node.installation, folder, options);
    this.#standbys.push(standby);
    const onNode = (text: string) => databaseRows<{ state: string }>(node.url('postgres'), text);
    await onNode(`ALTER SYSTEM SET synchronous_standby_names = '${STANDBY}'`);
    await onNode('SELECT pg_reload_conf()');
    await vi.waitUntil(async () => {
      const [replication] = await onNode(
        `SELECT sync_state AS state FROM pg_stat_replication WHERE application_name = '${STANDBY}'`,
      );
      return replication?.state === 'sync';
    }, PATIENCE);
    return standby;
  }

  /** The coordinator and then the workers, as they were started; a standby that was promoted is not among them. */
  get nodes(): readonly Server[] {
    return [this.coordinator, ...this.workers];
  }

  async stop(): Promise<void> {
    await Promise.all([...this.nodes, ...this.#standbys].map((server) => server.stop()));
  }
}

/**
 * Creates a database without tables on the nodes of a cluster, and returns its URL on the coordinator. `nodes` are URLs, the
 * coordinator's first.
 */
export async function createCitusDatabase(nodes: readonly string[], name: string): Promise<string> {
  const urls = nodes.map((node) => {
    const url = new URL(node);
    url.pathname = `/${name}`;
    return url;
  });
  const [coordinator, ...workers] = urls;
  if (!coordinator) throw new Error('there is no coordinator');
  await Promise.all(
    urls.map(async (url, index) => {
      const locale = `LOCALE 'C.UTF-8' TEMPLATE template0`;
      await databaseRows(nodes[index] as string, `CREATE DATABASE ${name} ENCODING 'UTF8' ${locale}`);
      await databaseRows(url.href, 'CREATE EXTENSION citus');
    }),
  );
  await databaseRows(coordinator.href, 'SELECT citus_set_coordinator_host($1, $2)', [ADDRESS, coordinator.port]);
  for (const { port } of workers) {
    await databaseRows(coordinator.href, 'SELECT citus_add_node($1, $2)', [ADDRESS, port]);
  }
  return coordinator.href;
}

/** Creates a database with all tables, distributed, on the nodes of a cluster, and returns its URL on the coordinator. */
export async function createDistributedDatabase(nodes: readonly string[], name: string): Promise<string> {
  const url = await createCitusDatabase(nodes, name);
  await migrateAll(url);
  await distributeTables(
    url,
    allMigrations().map(({ service }) => service),
  );
  return url;
}
