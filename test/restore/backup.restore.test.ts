import { join } from 'node:path';
import type { Client } from 'pg';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { Deployment } from '../failure/deployment.ts';
import { printFigure } from '../measure/figures.ts';
import { Community } from './community.ts';
import { type Content, connected, contentOf, filledTables, schemaOf } from './content.ts';
import { describeInstallations, runProgram } from './installation.ts';
import { createDatabase, DATABASE, deploymentOn, migrate, OWNER } from './installed-system.ts';
import { expectToContinue, queuedEvents } from './restored-system.ts';
import { createFolder, createServerFolder, removeFolder, Server } from './server.ts';

/** Acknowledged writes before, during and after a backup. */
const SOME_WRITES = 150;
const WAIT = { timeout: 120_000, interval: 20 };

describeInstallations((installation) => {
  let folder: string;
  let archive: string;
  const started: { stop(): Promise<void> }[] = [];
  const keep = <Part extends { stop(): Promise<void> }>(part: Part): Part => {
    started.push(part);
    return part;
  };
  let primary: Server;
  let deployment: Deployment;
  let community: Community;

  beforeAll(async () => {
    folder = createServerFolder();
    archive = createFolder(join(folder, 'archive'));
    const settings = {
      archive_mode: 'on',
      archive_command: `test ! -f ${archive}/%f && cp %p ${archive}/%f`,
    };
    primary = keep(await Server.create(installation, join(folder, 'primary'), { settings }));
    await createDatabase(primary);
    await migrate(primary);
    deployment = keep(await deploymentOn(primary));
    await deployment.start();
    community = new Community(deployment.api, deployment.keys);
    await community.prepare(`${deployment.simulators.receiver}/hooks/demo`);
    community.start();
  });

  afterAll(async () => {
    await community?.stop();
    for (const part of started.toReversed()) await part.stop();
    removeFolder(folder);
  });

  /** Waits until the community has received some more acknowledgements. */
  const moreWrites = async () => {
    const before = community.acknowledged.length;
    await vi.waitUntil(() => community.acknowledged.length >= before + SOME_WRITES, WAIT);
  };

  /** Two loaded systems at once would be too much for a small machine. */
  const withoutLoad = async <Result>(work: () => Promise<Result>): Promise<Result> => {
    await community.stop();
    try {
      return await work();
    } finally {
      community.start();
    }
  };

  test('a dump that pg_dump takes under load is restored on another server, with equal rows, definitions and rights', async () => {
    await moreWrites();
    const file = join(folder, 'guild_data.dump');
    const roles = join(folder, 'roles.sql');
    const before = community.acknowledged.length;
    const content = await inSnapshot(primary, async (client, snapshot) => {
      // Sequences do not belong to the snapshot: the dump has their values of the time at which it reads them.
      const read = await contentOf(client);
      const dumped = ['--format=custom', `--file=${file}`, `--snapshot=${snapshot}`];
      await runProgram(installation, 'pg_dump', [...dumped, `--dbname=${primary.url(DATABASE)}`]);
      return read;
    });
    await runProgram(installation, 'pg_dumpall', [
      '--roles-only',
      `--file=${roles}`,
      `--dbname=${primary.url('postgres')}`,
    ]);
    await moreWrites();
    const during = community.acknowledged.length - before;

    const target = keep(await Server.create(installation, join(folder, 'from-dump')));
    await runProgram(installation, 'psql', ['--quiet', `--file=${roles}`, `--dbname=${target.url('postgres')}`]);
    await connected(target.url('postgres'), (client) => client.query(`CREATE DATABASE ${DATABASE} OWNER ${OWNER}`));
    const restoring = ['--exit-on-error', '--single-transaction', `--dbname=${target.url(DATABASE, OWNER)}`];
    await runProgram(installation, 'pg_restore', [...restoring, file]);

    const restored = await connected(target.url(DATABASE), contentOf);
    expect(restored.tables).toEqual(content.tables);
    expect(await schemaOf(target, DATABASE)).toEqual(await schemaOf(primary, DATABASE));
    expect(await migrate(target)).toEqual([]);
    const chains = await withoutLoad(() => expectToContinue(target, deployment, content));
    printFigure(
      `PostgreSQL ${installation.version}, pg_dump under load`,
      `${Object.keys(content.tables).length} tables equal, ${filledTables(content)} of them with rows; ${chains} audit chains verified; ${during} writes acknowledged meanwhile`,
    );
  });

  test('a base backup that is taken under load and its WAL are restored to a chosen moment, before a mistake', async () => {
    const base = join(folder, 'base');
    const taking = runProgram(installation, 'pg_basebackup', [
      `--pgdata=${base}`,
      `--dbname=${primary.url('postgres')}`,
      '--wal-method=none',
      '--no-manifest',
      '--checkpoint=fast',
    ]);
    await moreWrites();
    await taking;
    // Events now wait in the queues of their services, where the restored system must find them.
    for (const replica of deployment.replicasOf('events')) await deployment.kill(replica);
    await moreWrites();
    const { moment, content } = await frozen(deployment, primary);
    await moreWrites();
    await connected(primary.url(DATABASE), async (client) => {
      await client.query('DELETE FROM lookup.links');
      await client.query('DELETE FROM moderation.punishments');
    });
    await moreWrites();
    await archiveEverything(primary);

    const target = keep(
      await Server.start(installation, base, {
        signal: 'recovery.signal',
        settings: {
          restore_command: `cp ${archive}/%f %p`,
          recovery_target_time: moment,
          recovery_target_action: 'promote',
        },
      }),
    );
    const restored = await connected(target.url(DATABASE), contentOf);
    expect(restored.tables).toEqual(content.tables);
    expect(await schemaOf(target, DATABASE)).toEqual(await schemaOf(primary, DATABASE));
    expect(await migrate(target)).toEqual([]);
    const queued = await connected(target.url(DATABASE), queuedEvents);
    expect(queued).toBeGreaterThan(0);
    const chains = await withoutLoad(() => expectToContinue(target, deployment, content));
    printFigure(
      `PostgreSQL ${installation.version}, base backup and WAL under load`,
      `${Object.keys(content.tables).length} tables equal, ${filledTables(content)} of them with rows; ${chains} audit chains verified; ${queued} queued events relayed once`,
    );
  });
});

/** Runs some work in a transaction whose snapshot other sessions can use. */
async function inSnapshot<Result>(
  server: Server,
  work: (client: Client, snapshot: string) => Promise<Result>,
): Promise<Result> {
  return connected(server.url(DATABASE), async (client) => {
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
    const { rows } = await client.query<{ snapshot: string }>('SELECT pg_export_snapshot() AS snapshot');
    const result = await work(client, rows[0]?.snapshot ?? '');
    await client.query('COMMIT');
    return result;
  });
}

/** Statements of other sessions that still change something; those that wait for a lock do not until it is released. */
const ACTIVE = `SELECT count(*)::int AS count FROM pg_stat_activity
  WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() AND state = 'active'
    AND wait_event_type IS DISTINCT FROM 'Lock'`;

/** Stops all processes for a moment, with their transactions open, and returns that moment and the content of the database. */
async function frozen(deployment: Deployment, server: Server): Promise<{ moment: string; content: Content }> {
  const pids = deployment.replicas.filter(({ child }) => !child.exit()).map(({ child }) => child.pid);
  for (const pid of pids) process.kill(pid, 'SIGSTOP');
  try {
    return await connected(server.url(DATABASE), async (client) => {
      await vi.waitUntil(async () => (await client.query<{ count: number }>(ACTIVE)).rows[0]?.count === 0, WAIT);
      const content = await contentOf(client);
      const { rows } = await client.query<{ moment: string }>('SELECT clock_timestamp()::text AS moment');
      return { moment: rows[0]?.moment ?? '', content };
    });
  } finally {
    for (const pid of pids) process.kill(pid, 'SIGCONT');
  }
}

/** Ends the current segment of the WAL and waits until it is archived. */
async function archiveEverything(server: Server): Promise<void> {
  await connected(server.url('postgres'), async (client) => {
    const { rows } = await client.query<{ segment: string }>('SELECT pg_walfile_name(pg_switch_wal()) AS segment');
    const segment = rows[0]?.segment ?? '';
    await vi.waitUntil(async () => {
      const archived = await client.query<{ is_archived: boolean }>(
        'SELECT last_archived_wal >= $1 AS is_archived FROM pg_stat_archiver',
        [segment],
      );
      return archived.rows[0]?.is_archived === true;
    }, WAIT);
  });
}
